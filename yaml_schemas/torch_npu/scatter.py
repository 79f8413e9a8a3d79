"""Meta functions of torch_npu's scatter operators that write to copies, which keep the strides."""

from __future__ import annotations

import torch
from torch import Tensor


def npu_scatter_list(
    input: list[Tensor],
    indices: Tensor,
    updates: Tensor,
    mask: Tensor | None = None,
    reduce: str = "update",
    axis: int = -2,
) -> list[Tensor]:
    """Copy each tensor of the list."""
    return [torch.empty_like(x) for x in input]


def npu_quant_scatter(
    input: Tensor,
    indices: Tensor,
    updates: Tensor,
    quant_scales: Tensor,
    quant_zero_points: Tensor | None = None,
    axis: int = -2,
    quant_axis: int = -1,
    reduce: str = "update",
    dst_type: int | None = None,
    round_mode: str | None = "rint",
) -> Tensor:
    """Copy the tensor."""
    return torch.empty_like(input)
