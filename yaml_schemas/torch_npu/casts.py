"""Casts to another dtype; one to the same dtype is a copy that lies as its argument does (torch_npu 2.13)."""

from __future__ import annotations

import torch


def _npu_dtype_cast(input: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    return _cast(input, dtype)


def _npu_dtype_cast_backward(grad: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    return _cast(grad, dtype)


def _cast(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    if tensor.dtype == dtype:
        return torch.empty_like(tensor)
    return tensor.new_empty(tensor.shape, dtype=dtype)
