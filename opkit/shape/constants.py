"""Named constants of both rule dialects, and torch's ScalarType numbers.

Sources: `c10/core/ScalarType.h` (order of the enum), `ATen/core/Reduction.h`, and for the numbers from 256 on
torch_npu's `DType` (256 + the ACL code), as of torch 2.13 and torch_npu 2.13.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

# Position in this list = the number c10 gives the type.
SCALAR_TYPES: tuple[str, ...] = (
    *("uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"),
    *("complex32", "complex64", "complex128", "bool", "qint8", "quint8", "qint32", "bfloat16"),
    *("quint4x2", "quint2x4", "bits1x8", "bits2x4", "bits4x2", "bits8", "bits16"),
    *("float8_e5m2", "float8_e4m3fn", "float8_e5m2fnuz", "float8_e4m3fnuz", "uint16", "uint32", "uint64"),
    *("uint1", "uint2", "uint3", "uint4", "uint5", "uint6", "uint7"),
    *("int1", "int2", "int3", "int4", "int5", "int6", "int7", "float8_e8m0fnu", "float4_e2m1fn_x2"),
)

MEMORY_FORMATS = ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")
LAYOUTS = ("strided", "sparse_coo", "sparse_csr", "_mkldnn", "sparse_csc", "sparse_bsr", "sparse_bsc")

# torch_npu's dtype numbers for types that torch lacked when they were given.
NPU_DTYPES = {
    "INT4": 285,
    "HIFLOAT8": 290,
    "FLOAT8_E5M2": 291,
    "FLOAT8_E4M3FN": 292,
    "FLOAT8_E8M0": 293,
    "FLOAT4_E2M1": 296,
    "FLOAT4_E1M2": 297,
}

# C++ enumerators whose names differ from torch's Python names.
_CPP_NAMES = {
    "Byte": "uint8",
    "Char": "int8",
    "Short": "int16",
    "Int": "int32",
    "Long": "int64",
    "Half": "float16",
    "Float": "float32",
    "Double": "float64",
    "ComplexHalf": "complex32",
    "ComplexFloat": "complex64",
    "ComplexDouble": "complex128",
    "Bool": "bool",
    "QInt8": "qint8",
    "QUInt8": "quint8",
    "QInt32": "qint32",
    "QUInt4x2": "quint4x2",
    "BFloat16": "bfloat16",
    "Float8_e5m2": "float8_e5m2",
    "Float8_e4m3fn": "float8_e4m3fn",
    "Float8_e8m0fnu": "float8_e8m0fnu",
}


@dataclass(frozen=True)
class Constant:
    """A name that stands for a value: what it is, and how Python writes it."""

    kind: str
    python: str


def _constants() -> dict[str, Constant]:
    table: dict[str, Constant] = {}
    for name in SCALAR_TYPES:
        table[name] = table[f"torch.{name}"] = Constant("dtype", f"torch.{name}")
    for cpp, name in _CPP_NAMES.items():
        dtype = Constant("dtype", f"torch.{name}")
        for spelling in (f"at::k{cpp}", f"c10::k{cpp}", f"torch::k{cpp}", f"at::ScalarType::{cpp}"):
            table[spelling] = dtype
        table[f"c10::ScalarType::{cpp}"] = dtype
    for number, name in enumerate(("None", "Mean", "Sum")):
        table[f"at::Reduction::{name}"] = Constant("int", str(number))
    for name, number in NPU_DTYPES.items():
        table[f"c10_npu::DType::{name}"] = Constant("int", str(number))
    # `bool`, `int8`, ... are dtypes in a rule; these two are what C++ writes for "no value".
    table["at::nullopt"] = table["c10::nullopt"] = table["std::nullopt"] = Constant("none", "None")
    return table


CONSTANTS: Mapping[str, Constant] = MappingProxyType(_constants())
