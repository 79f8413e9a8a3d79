"""Results of torch_npu's training attention, for each way its tensors may be laid out (torch_npu 2.13)."""

from __future__ import annotations

from typing import Any

import torch


def npu_fusion_attention_v3_infer_output(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, head_num: int, input_layout: str
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Attention, and the maximum and the sum of softmax with 8 equal numbers each."""
    layout = input_layout.upper()
    torch._check(head_num > 0, lambda: f"head_num must be greater than 0, but got {head_num}")
    torch._check(
        layout in ("BSH", "SBH", "BNSD", "BSND", "TND"), lambda: f"input_layout {input_layout} is unknown"
    )
    torch._check(query.dim() >= len(layout), lambda: f"query must have {len(layout)} dims for {layout}")
    dims = dict(zip(layout, query.shape))
    attention = [*query.shape[: len(layout) - 1], _last_dim(query, key, value, head_num, layout)]
    if layout == "TND":
        softmax = [dims["T"], dims["N"], 8]
    else:
        softmax = [dims["B"], head_num, dims["S"], 8]
    return (
        query.new_empty(attention),
        query.new_empty(softmax, dtype=torch.float32),
        query.new_empty(softmax, dtype=torch.float32),
    )


def _last_dim(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, head_num: int, layout: str) -> Any:
    """The head dim of value; in layouts that join heads and head dim, as often as query has heads."""
    if "D" in layout:
        # The host reads the length of the keys too, and makes nothing of it.
        read = layout.index("S") if "S" in layout else -1
        torch._check(key.dim() > read, lambda: f"key must have {len(layout)} dims for {layout}")
        torch._check(value.dim() >= len(layout), lambda: f"value must have {len(layout)} dims for {layout}")
        return value.shape[len(layout) - 1]
    torch._check(key.dim() >= 3, lambda: f"key must have 3 dims for {layout}")
    head_dim = query.shape[2] // head_num
    if head_dim == 0 or key.shape[2] == 0 or key.shape[2] // head_dim == 0:
        return head_num * head_dim
    torch._check(value.dim() >= 3, lambda: f"value must have 3 dims for {layout}")
    return head_num * (value.shape[2] // (key.shape[2] // head_dim))
