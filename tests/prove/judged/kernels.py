"""A kernel that a flag and a mode change."""

from __future__ import annotations

from typing import Any

import torch


def kernel(x: Any, mode: str = "a", keep: bool = True, y: Any = None) -> Any:
    torch._check(mode in ("a", "b"), lambda: f"mode must be a or b, but is {mode}")
    return x * 2 if keep else x[..., 0] * 2
