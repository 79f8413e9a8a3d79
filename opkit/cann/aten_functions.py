"""CPU functions for aten operators that only torch_npu defines, or that only it has a kernel for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


def _matmul_backward(
    grad: torch.Tensor, self: torch.Tensor, other: torch.Tensor, mask: list[bool]
) -> tuple[torch.Tensor | None, torch.Tensor | None]:
    rows, columns = self.dim() == 1, other.dim() == 1
    left = self.unsqueeze(0) if rows else self
    right = other.unsqueeze(-1) if columns else other
    whole = grad.unsqueeze(-1) if columns else grad
    whole = whole.unsqueeze(-2) if rows else whole
    first = (whole @ right.mT).sum_to_size(left.size()).reshape(self.size()) if mask[0] else None
    second = (left.mT @ whole).sum_to_size(right.size()).reshape(other.size()) if mask[1] else None
    return first, second


def _soft_margin_loss_backward(
    grad_output: torch.Tensor, self: torch.Tensor, target: torch.Tensor, reduction: int
) -> torch.Tensor:
    import torch

    decay = torch.exp(-target * self)
    grad = -target * decay / (1 + decay) * grad_output
    return grad / self.numel() if reduction == 1 else grad


def _mm(self: torch.Tensor, mat2: torch.Tensor, out_dtype: torch.dtype) -> torch.Tensor:
    return self.to(out_dtype) @ mat2.to(out_dtype)


def _addmm(
    self: torch.Tensor,
    mat1: torch.Tensor,
    mat2: torch.Tensor,
    out_dtype: torch.dtype,
    *,
    beta: Any,
    alpha: Any,
) -> torch.Tensor:
    return beta * self.to(out_dtype) + alpha * _mm(mat1, mat2, out_dtype)


def _masked_scale(self: torch.Tensor, mask: torch.Tensor, scale: float) -> torch.Tensor:
    return self * mask.to(self.dtype) * scale


HOST_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "aten::_masked_scale": _masked_scale,
    "aten::addmm.dtype": _addmm,
    "aten::baddbmm.dtype": _addmm,
    "aten::bmm.dtype": _mm,
    "aten::matmul_backward": _matmul_backward,
    "aten::mm.dtype": _mm,
    "aten::soft_margin_loss_backward": _soft_margin_loss_backward,
}
