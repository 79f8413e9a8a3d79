"""Rules of torch_npu's box operators that no expression can say."""

from __future__ import annotations

from typing import Any

import torch


def npu_nms_v4(
    input: torch.Tensor,
    scores: torch.Tensor,
    max_output_size: Any,
    iou_threshold: torch.Tensor,
    scores_threshold: torch.Tensor,
    pad_to_max_output_size: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The indices and how many of them count; a fractional number is cut off (op-plugin, torch_npu 2.13)."""
    indices = input.new_empty([torch.sym_int(max_output_size)], dtype=torch.int32)
    return indices, input.new_empty([], dtype=torch.int32)
