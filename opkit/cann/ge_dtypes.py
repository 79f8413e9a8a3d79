"""GE's data types: the torch dtype of each, and its numbers in graphs and in ge::DataType.

The two numberings differ. Descriptions of tensors in ge_ir.proto use ge.proto.DataType; attributes and the
C++ classes use ge::DataType (torchair: `_ge_proto_dtype_to_ge_dtype`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from opkit.errors import OpkitError

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class GeDtype:
    """One data type of GE."""

    name: str
    proto: int  # ge.proto.DataType
    number: int  # ge::DataType
    torch_name: str | None  # None where torch has no such type

    def torch(self) -> torch.dtype:
        """The torch dtype. Raises OpkitError for a type that this torch does not have."""
        import torch

        found = getattr(torch, self.torch_name, None) if self.torch_name else None
        if found is None:
            raise OpkitError(f"torch {torch.__version__} has no dtype for GE's {self.name}")
        dtype: torch.dtype = found
        return dtype


_ALL = [
    GeDtype(*row)
    for row in (
        ("DT_FLOAT", 1, 0, "float32"),
        ("DT_FLOAT16", 2, 1, "float16"),
        ("DT_INT8", 3, 2, "int8"),
        ("DT_UINT8", 4, 4, "uint8"),
        ("DT_INT16", 5, 6, "int16"),
        ("DT_UINT16", 6, 7, "uint16"),
        ("DT_INT32", 7, 3, "int32"),
        ("DT_INT64", 8, 9, "int64"),
        ("DT_UINT32", 9, 8, "uint32"),
        ("DT_UINT64", 10, 10, "uint64"),
        ("DT_BOOL", 11, 12, "bool"),
        ("DT_DOUBLE", 12, 11, "float64"),
        ("DT_STRING", 13, 13, None),
        ("DT_COMPLEX64", 16, 16, "complex64"),
        ("DT_COMPLEX128", 17, 17, "complex128"),
        ("DT_QINT8", 18, 18, "qint8"),
        ("DT_QINT32", 20, 20, "qint32"),
        ("DT_QUINT8", 21, 21, "quint8"),
        ("DT_BF16", 27, 27, "bfloat16"),
        ("DT_INT4", 28, 29, "quint4x2"),
        ("DT_COMPLEX32", 32, 33, "complex32"),
        ("DT_HIFLOAT8", 33, 34, "uint8"),
        ("DT_FLOAT8_E5M2", 34, 35, "float8_e5m2"),
        ("DT_FLOAT8_E4M3FN", 35, 36, "float8_e4m3fn"),
        ("DT_FLOAT8_E8M0", 36, 37, "float8_e8m0fnu"),
        ("DT_FLOAT4_E2M1", 39, 40, "float4_e2m1fn_x2"),
    )
]
_BY_PROTO = {dtype.proto: dtype for dtype in _ALL}
_BY_NUMBER = {dtype.number: dtype for dtype in _ALL}
_UNDEFINED = GeDtype("DT_UNDEFINED", 0, 28, None)


def from_proto(value: int) -> GeDtype:
    """The type with this number in a serialized graph; an unknown number is undefined."""
    return _BY_PROTO.get(value, _UNDEFINED)


def from_number(value: int) -> GeDtype:
    """The type with this ge::DataType number; an unknown number is undefined."""
    return _BY_NUMBER.get(value, _UNDEFINED)


def from_torch(dtype: torch.dtype) -> GeDtype:
    """GE's type for a torch dtype. Raises OpkitError if GE has none."""
    name = str(dtype).rpartition(".")[2]
    for candidate in _ALL:
        if candidate.torch_name == name:
            return candidate
    raise OpkitError(f"GE has no data type for {dtype}")
