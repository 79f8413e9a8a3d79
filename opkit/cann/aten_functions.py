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


HOST_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "aten::matmul_backward": _matmul_backward,
    "aten::soft_margin_loss_backward": _soft_margin_loss_backward,
}
