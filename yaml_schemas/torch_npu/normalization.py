"""Rules of torch_npu's normalization operators that no expression can say."""

from __future__ import annotations

import math

import torch

Tensor = torch.Tensor


def npu_layernorm_grad(
    grad_out: Tensor,
    input: Tensor,
    normalized_shape: list[int],
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of input, weight and bias; the last two without leading 1s (op-plugin, torch_npu 2.13)."""
    count = len(normalized_shape)
    torch._check(0 < count <= input.dim(), lambda: f"{normalized_shape} names no dims of the input")
    leading = input.shape[: input.dim() - count]
    torch._check(
        list(input.shape[len(leading) :]) == list(normalized_shape),
        lambda: f"input ends in {normalized_shape}, got {list(input.shape)}",
    )
    rows = math.prod(leading)
    for name, tensor in (("mean", mean), ("rstd", rstd)):
        torch._check(
            rows == 0 or tensor.numel() == rows, lambda name=name: f"{name} must have one value for each row"
        )
    # The shortest end of the shape that has as many elements as all of it.
    first = next((i for i, size in enumerate(normalized_shape) if size != 1), count - 1)
    sizes = list(normalized_shape[first:])
    torch._check(
        weight is None or list(weight.shape) == sizes,
        lambda: f"torch_npu would resize `weight` to {sizes}, which no graph can: reshape it before",
    )
    like = input if weight is None else weight
    return (
        input.new_empty(input.shape),
        input.new_empty(sizes, dtype=like.dtype),
        input.new_empty(sizes, dtype=like.dtype),
    )
