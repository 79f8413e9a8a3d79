"""Compares tensors: what they hold, and how they are laid out."""

from __future__ import annotations

import re
from typing import Any

from opkit.prove import fake
from opkit.prove.subject import flat_tensors


def layouts(results: list[Any], metas: list[Any], who: str, strides: bool = True) -> str:
    """Compare shapes, dtypes and strides with the Meta kernel's results; empty when they agree."""
    if len(results) != len(metas):
        return f"{who} gives {len(results)} results, the Meta kernel {len(metas)}"
    for index, (result, meta) in enumerate(zip(results, metas)):
        got = [_layout(tensor, strides) for tensor in flat_tensors([result])]
        want = [_layout(tensor, strides) for tensor in flat_tensors([meta])]
        if got != want:
            return f"result {index} of {who} is {_shown(result)}, the Meta kernel says {_shown(meta)}"
    return ""


def _shown(value: Any) -> str:
    # The copy of a result is on the CPU, which says nothing about where the result was.
    return re.sub(r" (npu|cpu)(:\d+)?\b", "", str(fake.describe(value)))


def _layout(tensor: Any, strides: bool) -> tuple[Any, ...]:
    # Strides of dims of size 1 and of empty tensors mean nothing.
    significant = tuple(s for s, n in zip(tensor.stride(), tensor.shape) if n > 1) if tensor.numel() else ()
    return tuple(tensor.shape), tensor.dtype, significant if strides else ()


def close(what: str, got: list[Any], want: list[Any], whose: str) -> str:
    """Compare the values of CPU tensors, but for rounding; empty when they agree."""
    import torch

    if len(got) != len(want):
        return f"{what} has {len(got)} tensors, {whose} has {len(want)}"
    for mine, theirs in zip(got, want):
        try:
            torch.testing.assert_close(mine, theirs, equal_nan=True)
        except AssertionError as error:
            lines = [line for line in str(error).splitlines() if line.strip()]
            return f"{what} differs from {whose}: {' '.join(lines[:3])}"
    return ""


def same_bits(left: Any, right: Any) -> bool:
    """Tell whether two CPU tensors hold the same bytes: NaN equals NaN, 0.0 differs from -0.0."""
    import torch

    if left.shape != right.shape or left.dtype != right.dtype:
        return False
    as_bytes = [t.contiguous().reshape(-1).view(torch.uint8) for t in (left, right)]
    return bool(torch.equal(*as_bytes))
