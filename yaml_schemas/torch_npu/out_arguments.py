"""Rules of operators that write to `out`, where that is resized or not even the result (torch_npu 2.13)."""

from __future__ import annotations

import torch

# From this stride on npu_stride_copy's kernel is another one, which cannot write to `out`.
LONG_STRIDE = 256
# `out` of fewer bytes, if not contiguous, is made contiguous by a copy that the kernel can write to.
BLOCK_BYTES = 32


def npu_conv3d_out(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    groups: int,
    *,
    out: torch.Tensor,
) -> torch.Tensor:
    """`out`, resized to what npu_conv3d gives."""
    torch._check(input.dim() >= 5 and weight.dim() >= 5, lambda: "input and weight must have 5 dims")
    given = min(len(stride), len(padding), len(dilation)) >= 3
    torch._check(given, lambda: "stride, padding and dilation must give 3 numbers")
    torch._check(all(stride[:3]), lambda: "stride must not be 0")
    spatial = [
        _conv_out(input.shape[i + 2], weight.shape[i + 2], stride[i], padding[i], dilation[i])
        for i in range(3)
    ]
    for size in spatial:
        torch._check(size > 0, lambda: "the input is smaller than the kernel")
    return _resized(out, [input.shape[0], weight.shape[0], *spatial], input.dtype)


def npu_sort_v2_out(
    input: torch.Tensor, dim: int = -1, descending: bool = False, *, out: torch.Tensor
) -> torch.Tensor:
    """`out`, resized to the input's shape."""
    rank = max(input.dim(), 1)
    torch._check(-rank <= dim < rank, lambda: f"dim {dim} is out of range")
    return _resized(out, list(input.shape), input.dtype)


def npu_stride_copy_out(
    input: torch.Tensor, shape: list[int], stride: list[int], storage_offset: float, *, out: torch.Tensor
) -> torch.Tensor:
    """`out`, or with a long last stride a new tensor, although the schema says `out`."""
    if stride[-1] < LONG_STRIDE:
        return out
    is_copied = not out.is_contiguous() and out.dtype not in (torch.uint8, torch.int8, torch.bool)
    is_tiny = is_copied and out.numel() * out.element_size() < BLOCK_BYTES
    return out if is_tiny else input.new_empty(shape)


def _conv_out(size: int, kernel: int, stride: int, padding: int, dilation: int) -> int:
    """The length of one dim, divided as C++ does: a size too small by less than a stride gives 1."""
    span = size + 2 * padding - dilation * (kernel - 1) - 1
    return 1 + (span // stride if bool(span < 0) == (stride < 0) else -(-span // stride))


def _resized(out: torch.Tensor, sizes: list[int], dtype: torch.dtype) -> torch.Tensor:
    torch._check(out.dtype == dtype, lambda: f"out must be of {dtype}")
    return out.resize_(sizes)
