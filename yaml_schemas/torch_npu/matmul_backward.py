"""Rules of the gradients of matrix products, by the ranks of the operands (op-plugin, torch_npu 2.13)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

Shape = Sequence[Any]


def matmul_double_backward(
    grad_self: torch.Tensor | None,
    grad_other: torch.Tensor | None,
    grad_out: torch.Tensor,
    input: torch.Tensor,
    other: torch.Tensor,
    mask: list[bool],
) -> tuple[torch.Tensor | None, torch.Tensor | None, torch.Tensor | None]:
    """Gradients of grad_out, input and other, the last two without a sum over broadcast batch dims."""
    out = self_ = other_ = None
    if mask[0] and not (grad_self is None and grad_other is None):
        out = grad_out.new_empty(grad_out.shape)
    if mask[1] and grad_other is not None:
        left, right = _at_most_matrix(input.shape), _without_extra(grad_other.shape, input=other.shape)
        shape, grad = _as_matrices(left, right, grad_out.shape)
        keeps = len(shape[0]) == 2 and len(shape[1]) > 2
        self_ = grad_out.new_empty(input.shape if keeps else _product(grad, _swapped(shape[1])))
    if mask[2] and grad_self is not None:
        left, right = _without_extra(grad_self.shape, input=input.shape), _at_most_matrix(other.shape)
        shape, grad = _as_matrices(left, right, grad_out.shape)
        keeps = len(shape[1]) == 2 and len(shape[0]) > 2
        sizes = list(other.shape) if keeps else _product(_swapped(shape[0]), grad)
        if other.dim() == 1 and len(sizes) > 1 and sizes[-1] == 1:
            sizes = sizes[:-1]
        other_ = grad_self.new_empty(sizes)
    return out, self_, other_


def npu_bmm_v2_mat1_backward(
    grad: torch.Tensor, mat1: torch.Tensor, mat2: torch.Tensor, size: list[Any]
) -> torch.Tensor:
    """The gradient grad @ mat2.T, summed or viewed to `size`; of the dtype of grad."""
    _check_operands(mat1, mat2, grad, mat2)
    right = [1, mat2.shape[0]] if mat2.dim() == 1 else _swapped(mat2.shape)
    return grad.new_empty(_sized(_grad_as_matrix(grad, mat1, mat2), right, size))


def npu_bmm_v2_mat2_backward(
    grad: torch.Tensor, mat1: torch.Tensor, mat2: torch.Tensor, size: list[Any]
) -> torch.Tensor:
    """The gradient mat1.T @ grad, summed or viewed to `size`; of the dtype of mat1."""
    _check_operands(mat1, mat2, mat1, grad)
    left = [mat1.shape[0], 1] if mat1.dim() == 1 else _swapped(mat1.shape)
    return mat1.new_empty(_sized(left, _grad_as_matrix(grad, mat1, mat2), size))


def _at_most_matrix(shape: Shape) -> list[Any]:
    """`shape` without leading dims of size 1 beyond the last two."""
    sizes = list(shape)
    while len(sizes) > 2 and sizes[0] == 1:
        sizes = sizes[1:]
    return sizes


def _without_extra(shape: Shape, input: Shape) -> list[Any]:
    """The shape of a gradient without the leading dim that its input lacks."""
    return list(shape[1:]) if len(shape) == len(input) + 1 else list(shape)


def _as_matrices(left: Shape, right: Shape, grad: Shape) -> tuple[tuple[list[Any], list[Any]], list[Any]]:
    """Vectors as matrices of one row or column, and the gradient of their product likewise."""
    left, right, grad = list(left), list(right), list(grad)
    if len(right) == 1:
        right, grad = [*right, 1], [*grad, 1]
    if len(left) == 1:
        left, grad = [1, *left], [*grad[:-1], 1, *grad[-1:]]
    return (left, right), grad


def _grad_as_matrix(grad: torch.Tensor, mat1: torch.Tensor, mat2: torch.Tensor) -> list[Any]:
    sizes = list(grad.shape)
    if mat1.dim() == 1:
        return [*sizes[:-1], 1, *sizes[-1:]]
    return [*sizes, 1] if mat2.dim() == 1 else sizes


def _swapped(shape: Shape) -> list[Any]:
    return [*shape[:-2], shape[-1], shape[-2]]


def _product(left: Shape, right: Shape) -> list[Any]:
    return [*torch.broadcast_shapes(tuple(left[:-2]), tuple(right[:-2])), left[-2], right[-1]]


def _check_operands(mat1: torch.Tensor, mat2: torch.Tensor, left: torch.Tensor, right: torch.Tensor) -> None:
    torch._check(mat1.dim() > 1 or mat2.dim() > 1, lambda: "mat1 and mat2 must not both be vectors")
    torch._check(torch.int8 not in (left.dtype, right.dtype), lambda: "int8 operands are not supported")


def _sized(left: Shape, right: Shape, size: Shape) -> Shape:
    """The product's shape, or `size` where given: its dims of 1 are sums, and the rest is a view."""
    full = _product(left, right)
    if not size:
        return full
    torch._check(len(size) <= len(full), lambda: f"size must not have more than {len(full)} dims")
    aligned = [1] * (len(full) - len(size)) + list(size)
    # Dims of 1 that size leaves out come back where the operands have the same rank and nothing is summed.
    may_come_back = len(size) < len(full) and len(left) == len(right)
    if may_come_back and all(a == b for a, b in zip(aligned, full)):
        return full
    kept = [n for n, a in zip(full[:-2], aligned) if a != 1]
    torch._check(
        _numel(size) == _numel([*kept, *full[-2:]]), lambda: f"a product of {full} is no view of {list(size)}"
    )
    return size


def _numel(sizes: Shape) -> Any:
    result = 1
    for n in sizes:
        result = result * n
    return result
