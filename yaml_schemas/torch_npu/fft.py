"""Rules of torch_npu's Fourier transforms: their results keep the order of dims that the transform works in.

Sources: the host code of the operators in torch_npu 2.13, compared call by call.
"""

from __future__ import annotations

import math
from typing import Any

import torch

Tensor = torch.Tensor


def _laid_out(sizes: list[Any], order: list[int]) -> list[Any]:
    """Strides of a dense tensor whose dims lie in memory in this order, outermost first."""
    strides, step = [1] * len(sizes), 1
    for dim in reversed(order):
        strides[dim] = step
        step = step * torch.sym_max(sizes[dim], 1)
    return strides


def _by_stride(tensor: Tensor, dims: list[int]) -> list[int]:
    return sorted(dims, key=lambda dim: tensor.stride(dim), reverse=True)


def _not_negative(dims: list[int], rank: int) -> None:
    torch._check(
        all(0 <= dim < rank for dim in dims), lambda: f"dim must be from 0 to {rank - 1}, got {dims}"
    )


def fft_r2c_backward(
    grad: Tensor, dim: list[int], normalization: int, onesided: bool, last_dim_size: int
) -> Tensor:
    """The real part of a complex buffer, so with strides of two."""
    _not_negative(dim, grad.dim())
    torch._check(grad.is_complex(), lambda: "grad must be complex")
    sizes, order = list(grad.shape), list(range(grad.dim()))
    grows = False
    if onesided:
        torch._check(len(dim) > 0, lambda: "dim must not be empty")
        # The sizes are only compared where the strides of the result depend on it.
        grows = not grad.is_contiguous() and bool(last_dim_size > sizes[dim[-1]])
        sizes[dim[-1]] = torch.sym_max(sizes[dim[-1]], last_dim_size)
    # Where it grows, the transform sees a new buffer with zeros for the missing half.
    single = bool(dim) and all(sizes[i] == 1 for i in dim)
    if not (grows or single or grad.is_contiguous()):
        order = _by_stride(grad, order)
    order = [*(i for i in order if i not in dim), *(i for i in order if i in dim)]
    strides = [2 * stride for stride in _laid_out(sizes, order)]
    return grad.new_empty_strided(sizes, strides, dtype=grad.dtype.to_real())


def fft_c2r_backward(grad: Tensor, dim: list[int], normalization: int) -> Tensor:
    """Half of the last of `dim`, which lies outside the other transformed dims."""
    torch._check(len(dim) > 0, lambda: "dim must not be empty")
    _not_negative(dim, grad.dim())
    last = dim[-1]
    sizes = list(grad.shape)
    sizes[last] = sizes[last] // 2 + 1
    others = [i for i in range(grad.dim()) if i not in dim]
    order = [*_by_stride(grad, others), last, *_by_stride(grad, list(dim[:-1]))]
    return grad.new_empty_strided(sizes, _laid_out(sizes, order), dtype=grad.dtype.to_complex())


def stft_backward(
    grad_output: Tensor,
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
) -> Tensor:
    """Like the input, also its strides; a single signal gets two more dims. The dtype is that of grad."""
    hop = n_fft // 4 if hop_length is None else hop_length
    torch._check(hop > 0, lambda: "hop_length must be positive")
    torch._check(input.dim() in (1, 2), lambda: "input must have 1 or 2 dims")
    frequencies = _frequencies(grad_output, input, window, return_complex)
    # The host adds up all frames of all signals at once, and asks only for their number.
    signals = input.shape[0] if input.dim() == 2 else 1
    frames = signals * ((input.shape[-1] - n_fft) // hop + 1)
    given = math.prod(frequencies.shape[:-2]) * frequencies.shape[-1]
    torch._check(given == frames, lambda: f"grad_output must have {frames} frames, got {given}")
    dtype = frequencies.dtype
    if window is not None:
        padded = window.shape[0] + n_fft - (n_fft if win_length is None else win_length)
        torch._check(padded == n_fft or padded == 1, lambda: "window must have win_length entries")
        dtype = torch.promote_types(dtype, window.dtype)
    dtype = dtype if input.is_complex() else dtype.to_real()
    if input.dim() == 1:
        return input.new_empty([1, 1, input.shape[0]], dtype=dtype)
    return input.new_empty_strided(input.shape, input.stride(), dtype=dtype)


def _frequencies(grad: Tensor, input: Tensor, window: Tensor | None, return_complex: bool | None) -> Tensor:
    """The gradient as complex numbers, [signals, frequencies, frames] or without signals."""
    if return_complex is None:
        return_complex = input.is_complex() or (window is not None and window.is_complex())
    return grad if return_complex else torch.view_as_complex(grad.contiguous())
