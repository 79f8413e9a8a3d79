"""Rules of torch_npu's indexing operators, which have two kernels with different rules.

Sources: the host code of the operators in torch_npu 2.13, compared call by call.
"""

from __future__ import annotations

from typing import Any

import torch

from opkit.registration.machine import soc_at_least

Tensor = torch.Tensor

_MOST_DIMS = 8


def npu_one_hot(
    input: Tensor, num_classes: int = -1, depth: int = 1, on_value: Any = 1, off_value: Any = 0
) -> Tensor:
    """One dim of size `depth` more, from Ascend950 on at `num_classes`, which before then moves nothing."""
    if not soc_at_least("950"):
        return input.new_empty([*input.shape, depth], dtype=torch.float32)
    rank = input.dim()
    torch._check(-1 <= num_classes <= rank, lambda: f"num_classes must be -1 to {rank}, not {num_classes}")
    torch._check(depth >= 0, lambda: f"depth must not be {depth}: -1 would depend on the data")
    torch._check(depth > 0 or input.numel() > 0, lambda: "depth must be positive where there are no values")
    dtype = _dtype_of(on_value)
    torch._check(dtype == _dtype_of(off_value), lambda: "on_value and off_value must be of one type")
    axis = rank if num_classes == -1 else num_classes
    return input.new_empty([*input.shape[:axis], depth, *input.shape[axis:]], dtype=dtype)


def _dtype_of(number: Any) -> torch.dtype:
    if isinstance(number, (bool, torch.SymBool)):
        return torch.bool
    if isinstance(number, (int, torch.SymInt)):
        return torch.int64
    torch._check(abs(number) <= torch.finfo(torch.float32).max, lambda: f"{number} is no float32")
    return torch.float32


def npu_indexing(
    input: Tensor,
    begin: list[int],
    end: list[int],
    strides: list[int],
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
) -> Tensor:
    """One range for each dim; before Ascend950 no mask changes the shape and nothing bounds a range."""
    if soc_at_least("950"):
        masks = (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
        return input.new_empty(_strided_slice(input.shape, begin, end, strides, masks))
    rank = input.dim()
    torch._check(
        min(len(begin), len(end), len(strides)) >= rank, lambda: "begin, end and strides must name every dim"
    )
    torch._check(all(strides[:rank]), lambda: "stride should not be 0")
    return input.new_empty([_quotient(end[i] + strides[i] - 1 - begin[i], strides[i]) for i in range(rank)])


def npu_indexing_out(
    input: Tensor,
    begin: list[int],
    end: list[int],
    strides: list[int],
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    *,
    out: Tensor,
) -> Tensor:
    """`out`, which only Ascend950 and later resize, or compare with anything."""
    if soc_at_least("950"):
        masks = (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
        out.resize_(_strided_slice(input.shape, begin, end, strides, masks))
    return out


def _quotient(value: int, divisor: int) -> int:
    """Divide as C++ does, toward zero."""
    size = abs(value) // abs(divisor)
    return size if (value < 0) == (divisor < 0) else -size


def _strided_slice(
    shape: torch.Size, begin: list[int], end: list[int], strides: list[int], masks: tuple[int, ...]
) -> list[int]:
    """The result of TensorFlow's strided_slice, which aclnnStridedSlice follows."""
    begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask = masks
    count = len(begin)
    torch._check_value(count == len(end) == len(strides), lambda: "the lists must have the same length")
    torch._check_value(not ellipsis_mask & (ellipsis_mask - 1), lambda: "only one ellipsis is allowed")
    if not ellipsis_mask & ((1 << count) - 1):
        # What is left out at the end is whole.
        ellipsis_mask = 1 << count
    taken = sum(1 for i in range(count) if not (ellipsis_mask | new_axis_mask) >> i & 1)
    sizes: list[int] = []
    dim = 0
    for i in range(count + 1):
        if ellipsis_mask >> i & 1:
            whole = max(0, len(shape) - taken)
            sizes += shape[dim : dim + whole]
            dim += whole
        elif i == count:
            break
        elif new_axis_mask >> i & 1:
            sizes.append(1)
        else:
            torch._check_index(dim < len(shape), lambda: "more ranges than dims")
            ends = (begin_mask >> i & 1, end_mask >> i & 1)
            if shrink_axis_mask >> i & 1:
                _check_taken(shape[dim], begin[i], strides[i])
            else:
                sizes.append(_range(shape[dim], begin[i], end[i], strides[i], *ends))
            dim += 1
    torch._check_value(len(sizes) <= _MOST_DIMS, lambda: f"the result has more than {_MOST_DIMS} dims")
    return sizes


def _check_taken(size: int, index: int, step: int) -> None:
    torch._check_value(step > 0, lambda: "a dim that is dropped needs a positive stride")
    torch._check_index(-size <= index < size, lambda: f"index {index} is out of range")


def _range(size: int, begin: int, end: int, step: int, from_first: int, to_last: int) -> int:
    """How many elements a range has; negative numbers count from the end."""
    torch._check_value(step != 0, lambda: "stride should not be 0")
    low, high = (0, size) if step > 0 else (-1, size - 1)
    first, last = (torch.sym_max(low, torch.sym_min(v + size if v < 0 else v, high)) for v in (begin, end))
    if from_first:
        first = 0 if step > 0 else size - 1
    if to_last:
        last = size if step > 0 else -1
    return torch.sym_max(0, -((first - last) // step))
