"""Rules of torch_npu's operators that no expression can say."""

from __future__ import annotations

import torch

from opkit.registration.machine import soc_at_least


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
    """One range per dim; the masks do not change the shape before Ascend950 (op-plugin, torch_npu 2.13)."""
    torch._check(all(strides), lambda: "stride should not be 0")
    if soc_at_least("950"):
        masks = (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
        return input.new_empty(_strided_slice(input.shape, begin, end, strides, masks))
    torch._check(len(begin) >= input.dim(), lambda: "begin must name every dim")
    sizes = [(e + s - 1 - b) // s for b, e, s in zip(begin, end, strides)]
    return input.new_empty(sizes[: input.dim()])


def npu_indexing_out(
    input: torch.Tensor,
    begin: list[int],
    end: list[int],
    strides: list[int],
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    *,
    out: torch.Tensor,
) -> torch.Tensor:
    """`out`, which only Ascend950 and later resize."""
    if soc_at_least("950"):
        torch._check(all(strides), lambda: "stride should not be 0")
        masks = (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
        out.resize_(_strided_slice(input.shape, begin, end, strides, masks))
    return out


def _strided_slice(
    shape: torch.Size, begin: list[int], end: list[int], strides: list[int], masks: tuple[int, ...]
) -> list[int]:
    """The result of TensorFlow's strided_slice, which aclnnStridedSlice follows."""
    begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask = masks
    count = len(begin)
    if not ellipsis_mask:
        ellipsis_mask = 1 << count
    taken = sum(1 for i in range(count) if not (ellipsis_mask | new_axis_mask) >> i & 1)
    sizes: list[int] = []
    dim = 0
    for i in range(count + 1):
        if ellipsis_mask >> i & 1:
            whole = len(shape) - taken
            sizes += shape[dim : dim + whole]
            dim += whole
        elif i == count:
            break
        elif new_axis_mask >> i & 1:
            sizes.append(1)
        else:
            torch._check(dim < len(shape), lambda: "more ranges than dims")
            size, step = shape[dim], strides[i]
            dim += 1
            if shrink_axis_mask >> i & 1:
                continue
            low, high = (0, size) if step > 0 else (-1, size - 1)
            first, last = (_clamp(v + size if v < 0 else v, low, high) for v in (begin[i], end[i]))
            first = (0 if step > 0 else size - 1) if begin_mask >> i & 1 else first
            last = (size if step > 0 else -1) if end_mask >> i & 1 else last
            sizes.append(max(0, -((first - last) // step)))
    return sizes


def _clamp(value: int, low: int, high: int) -> int:
    return max(low, min(value, high))
