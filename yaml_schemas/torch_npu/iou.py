"""Rules of intersection over union whose result is no new contiguous tensor."""

from __future__ import annotations

import torch


def npu_giou(
    input: torch.Tensor, gtboxes: torch.Tensor, trans: bool = False, is_cross: bool = False, mode: int = 0
) -> torch.Tensor:
    """One row of results, transposed (op-plugin, torch_npu 2.13)."""
    exists = trans and not is_cross and mode == 0
    torch._check(exists, lambda: "only trans=True, is_cross=False, mode=0 exists")
    torch._check(min(input.dim(), gtboxes.dim()) >= 2, lambda: "input and gtboxes must have 2 dims or more")
    half = torch.float16 in (input.dtype, gtboxes.dtype)
    return input.new_empty((1, input.shape[1]), dtype=torch.float16 if half else input.dtype).transpose(0, 1)
