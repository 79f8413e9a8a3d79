"""Rules of torch_npu's operators that no expression can say."""

from __future__ import annotations

import torch


def npu_indexing(
    input: torch.Tensor,
    begin: list[int],
    end: list[int],
    strides: list[int],
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
) -> torch.Tensor:
    """One range per dim; the masks do not change the shape (op-plugin 2.13, SoCs before Ascend950)."""
    torch._check(all(strides), lambda: "stride should not be 0")
    sizes = [(e + s - 1 - b) // s for b, e, s in zip(begin, end, strides)]
    return input.new_empty(sizes[: input.dim()])
