"""Rules of torch_npu's slices, strides and padding that no expression can say.

Sources: the host code of the operators in torch_npu 2.13, compared call by call.
"""

from __future__ import annotations

import math
from typing import Any

import torch

Tensor = torch.Tensor


def npu_pad(input: Tensor, paddings: list[int]) -> Tensor:
    """A (before, after) pair for each dim, first dim first; missing numbers are 0, others have no use."""
    sizes = list(input.shape)
    for index, number in enumerate(paddings[: 2 * len(sizes)]):
        sizes[index // 2] += number
    return input.new_empty(sizes)


def npu_stride_add(input: Tensor, other: Tensor, offset1: Any, offset2: Any, c1_len: Any) -> Tensor:
    """The larger size of each dim, whether or not the two broadcast; 16 channels for each of `c1_len`."""
    rank = max(input.dim(), other.dim())
    torch._check(rank > 1, lambda: "one of the tensors must have 2 dims")
    left, right = ([1] * (rank - tensor.dim()) + list(tensor.shape) for tensor in (input, other))
    sizes = [0 if a == 0 or b == 0 else torch.sym_max(a, b) for a, b in zip(left, right)]
    sizes[1] = torch.sym_int(c1_len) * 16
    return input.new_empty(sizes)


def repeat_interleave_backward_tensor(
    grad: Tensor, input: Tensor, repeats: Tensor, dim: int | None = None
) -> Tensor:
    """Like the input in the dtype of grad; one number repeats by a sum, which makes integers int64."""
    dim = -1 if dim is None else dim
    rank = max(grad.dim(), 1)
    torch._check_index(-rank <= dim < rank, lambda: f"dim {dim} is out of range")
    if repeats.numel() == 1:
        integral = not (grad.is_floating_point() or grad.is_complex())
        return input.new_empty(input.shape, dtype=torch.int64 if integral else grad.dtype)
    sizes = list(grad.shape)
    sizes[dim] = repeats.shape[0]
    torch._check(math.prod(sizes) == input.numel(), lambda: f"repeats make {sizes}, input is {input.shape}")
    return input.new_empty(input.shape, dtype=grad.dtype)
