"""Dtypes by their numbers, for Python rules: torch's own numbers, and torch_npu's from 256 on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opkit.shape.evaluation import library_function

if TYPE_CHECKING:
    import torch

_FIRST_OF_CANN = 256
# The numbers of torch for which torch_npu has a type of CANN.
_KNOWN = frozenset((*range(12), 15, 23, 24, 27, 28, 29, 44, 45))
# Packed numbers of 4 bits: an argument may say that it holds them, but no result is made so.
_INT4 = 285


def check_dtypes(*numbers: int | None) -> None:
    """Refuse numbers of dtypes that torch_npu's host code has no type for. None is no number."""
    for number in numbers:
        if number is not None and number not in _KNOWN and number < _FIRST_OF_CANN:
            raise ValueError(f"torch_npu has no dtype {number}")


def dtype_from_int(number: int) -> torch.dtype:
    """The dtype of a result by its number, as it lies in memory.

    Raises ValueError for the number of no dtype, and of one in which torch_npu makes no results.
    """
    check_dtypes(number)
    if number == _INT4:
        raise ValueError("torch_npu makes no results of int4")
    dtype: torch.dtype | None = library_function("dtype_from_int")(number)
    if dtype is None:
        raise ValueError(f"this version of torch has no type for dtype {number}")
    return dtype
