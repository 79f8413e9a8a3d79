"""The names a schema may use: types, dtype names in defaults, reserved words.

From torch/csrc/jit/frontend/schema_type_parser.cpp and lexer.h, c10/core/ScalarType.h (torch 2.6 to 2.13).
"""

from __future__ import annotations

from opkit.model.versions import version_key

# Types the schema parser of torch 2.6 and later knows by one word.
BASE_TYPES = frozenset(
    [
        "Any",
        "AnyClassType",
        "AnyEnumType",
        "Capsule",
        "ConstQuantizerPtr",
        "Device",
        "DeviceIndex",
        "Generator",
        "Layout",
        "MemoryFormat",
        "None",
        "NoneType",
        "QScheme",
        "Quantizer",
        "Scalar",
        "ScalarType",
        "Storage",
        "Stream",
        "SymInt",
        "Tensor",
        "bool",
        "complex",
        "float",
        "int",
        "number",
        "str",
    ]
)

# Types only some torch versions know: name -> (first version, last version); None is open.
VERSIONED_TYPES: dict[str, tuple[str | None, str | None]] = {
    "Dimname": (None, "v2.12"),
    "SymBool": ("v2.8", None),
}

# Types with parts in parentheses; the reader keeps them as text, no graph takes them.
COMPOUND_TYPES = frozenset(["Dict", "Future", "Await", "RRef", "Union"])

# What people write instead -> what the schema language calls it.
TYPE_REPAIRS = {
    "double": "float",
    "float32": "float",
    "float64": "float",
    "int64_t": "int",
    "int64": "int",
    "int32": "int",
    "int32_t": "int",
    "long": "int",
    "size_t": "int",
    "uint64_t": "int",
    "string": "str",
    "String": "str",
    "char": "str",
    "boolean": "bool",
    "Bool": "bool",
    "Int": "int",
    "Float": "float",
    "Number": "Scalar",
    "number": "Scalar",
    "scalar": "Scalar",
    "tensor": "Tensor",
    "TensorList": "Tensor[]",
    "Tensors": "Tensor[]",
    "ITensorListRef": "Tensor[]",
    "IntArrayRef": "int[]",
    "SymIntArrayRef": "SymInt[]",
    "dtype": "ScalarType",
    "DType": "ScalarType",
    "Dtype": "ScalarType",
    "device": "Device",
    "layout": "Layout",
    "memory_format": "MemoryFormat",
    "generator": "Generator",
    "DimVector": "int[]",
    "SymFloat": "float",
}

# Words that are tokens of their own to torch's lexer, so nothing can be named by them. (`from` is allowed.)
RESERVED_WORDS = frozenset(
    [
        "False",
        "None",
        "NoneType",
        "True",
        "Ellipsis",
        "and",
        "as",
        "assert",
        "break",
        "class",
        "continue",
        "def",
        "del",
        "elif",
        "else",
        "for",
        "global",
        "if",
        "import",
        "in",
        "is",
        "not",
        "or",
        "pass",
        "raise",
        "return",
        "while",
        "with",
    ]
)

# Names a `ScalarType` default may use -> c10::ScalarType's number.
SCALAR_TYPES = {
    "uint8": 0,
    "int8": 1,
    "int16": 2,
    "short": 2,
    "int32": 3,
    "int": 3,
    "int64": 4,
    "long": 4,
    "float16": 5,
    "half": 5,
    "float32": 6,
    "float": 6,
    "float64": 7,
    "double": 7,
    "complex32": 8,
    "chalf": 8,
    "complex64": 9,
    "cfloat": 9,
    "complex128": 10,
    "cdouble": 10,
    "bool": 11,
    "qint8": 12,
    "quint8": 13,
    "qint32": 14,
    "bfloat16": 15,
    "quint4x2": 16,
    "quint2x4": 17,
    "bits1x8": 18,
    "bits2x4": 19,
    "bits4x2": 20,
    "bits8": 21,
    "bits16": 22,
    "float8_e5m2": 23,
    "float8_e4m3fn": 24,
    "float8_e5m2fnuz": 25,
    "float8_e4m3fnuz": 26,
    "uint16": 27,
    "uint32": 28,
    "uint64": 29,
    "bit": 30,
    **{f"uint{n}": 29 + n for n in range(1, 8)},
    **{f"int{n}": 36 + n for n in range(1, 8)},
    "float8_e8m0fnu": 44,
    "float4_e2m1fn_x2": 45,
}

# Names any default may use, whatever its type -> the int they stand for.
ENUM_DEFAULTS = {"float": 6, "complex": 9, "long": 4, "strided": 0, "Mean": 1, "contiguous_format": 0}

# Device types torch knows without a backend; "npu" needs torch_npu and is therefore not accepted in a schema.
DEVICE_TYPES = frozenset(
    [
        "cpu",
        "cuda",
        "ipu",
        "xpu",
        "mkldnn",
        "opengl",
        "opencl",
        "ideep",
        "hip",
        "ve",
        "fpga",
        "maia",
        "xla",
        "lazy",
        "vulkan",
        "mps",
        "meta",
        "hpu",
        "mtia",
        "privateuseone",
    ]
)


def type_known_in(name: str, version: str) -> bool:
    """Tell whether a torch version's schema parser knows a versioned type."""
    first, last = VERSIONED_TYPES[name]
    key = version_key(version)[:2]
    return (first is None or key >= version_key(first)) and (last is None or key <= version_key(last))


def type_help(word: str, kind: str, following: str) -> str:
    """Make the help line for a word in the place of a type; `kind` and `following` are the token after it."""
    import difflib

    known = sorted(BASE_TYPES | VERSIONED_TYPES.keys())
    repair = TYPE_REPAIRS.get(word) or next(iter(difflib.get_close_matches(word, known, 1)), "")
    if word in ("void", "Void"):
        return "write -> () if nothing is returned"
    if kind == ":":
        return f"the type comes first: Tensor {word}"
    if not repair and kind in (",", ")", "="):
        return f"an argument is: type name, e.g. Tensor {word}"
    if not repair and following in known:
        return f"the type comes first: {following} {word}"
    if word in RESERVED_WORDS or word in ("List", "Optional", "Sequence", "Tuple", "list", "tuple"):
        return "the schema language writes lists as T[], optional values as T?"
    if repair:
        return f"did you mean {repair}?"
    return "types: Tensor, int, SymInt, float, bool, str, Scalar, ScalarType, ... with ?, [] or [N]"
