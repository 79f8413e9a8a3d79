"""The aten operators that stand before and after an operator in a small model; they work for every dtype.

Everything here runs under Dynamo.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def each(value: Any, function: Callable[[Any], Any]) -> Any:
    """Apply a function to a tensor, or to every tensor of a list; give other values back as they are."""
    import torch

    if isinstance(value, (list, tuple)):
        return [each(item, function) for item in value]
    return function(value) if isinstance(value, torch.Tensor) else value


def flat(value: Any) -> list[Any]:
    """List the tensors of a result, those inside lists included."""
    import torch

    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in flat(item)]
    return [value] if isinstance(value, torch.Tensor) else []


def before(tensor: Any) -> Any:
    """Compute a tensor that holds the same values, so that they stay legal for the operator."""
    import torch

    if tensor.dtype is torch.bool:
        return torch.logical_or(tensor, tensor)
    return torch.maximum(tensor, tensor) if _is_ordinary(tensor.dtype) else tensor.clone()


def after(tensor: Any) -> Any:
    """Compute something else from a result."""
    import torch

    if tensor.dtype is torch.bool:
        return torch.logical_not(tensor)
    return torch.add(tensor, tensor) if _is_ordinary(tensor.dtype) else tensor.clone()


def _is_ordinary(dtype: Any) -> bool:
    """Tell whether aten computes with the dtype on every device."""
    import torch

    return dtype in (
        torch.float16, torch.bfloat16, torch.float32, torch.int8, torch.int16, torch.int32, torch.int64,
        torch.uint8,
    )  # fmt: skip
