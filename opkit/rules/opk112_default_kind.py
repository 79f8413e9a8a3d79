"""The default is not a value of the argument's type.

What it does
------------
Warns about a default of a custom operator that torch accepts but reads as something the type does not hold: a
float for an `int`, a number for a `bool`, a text for a number, a number for `Tensor?`, a hexadecimal number
(which torch reads as 0), three values for an `int[2]`, a `ScalarType` number that stands for no dtype kernels
use.

Why it matters
--------------
The default call hands the kernel a value of the wrong type, or another value than the one written. A
`ScalarType` of 291, torch_npu's number for float8_e5m2, becomes `torch.uint6`.

Example
-------
    - func: my_cast(Tensor x, ScalarType dst_type=291) -> Tensor

Use instead
-----------
torch's own numbers or names in a `ScalarType`, torch_npu's in an `int`:

    - func: my_cast(Tensor x, int dst_type=291) -> Tensor
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from opkit.model.diagnostic import Diagnostic, Severity
from opkit.model.operator import OpSpec
from opkit.model.schema import Argument, BaseType, DefaultValue, ListType, OptionalType
from opkit.rules.context import Context, finding

CODE = "OPK112"

_INT_TYPES = frozenset(["int", "SymInt", "Layout", "MemoryFormat", "DeviceIndex"])
# c10's numbers of dtypes a kernel may meet: 0 to 15 are the ordinary ones, quint4x2 holds packed int4, then
# the 8-bit floats, the unsigned integers, int4, float8_e8m0fnu and packed float4.
_DTYPES = frozenset([*range(17), *range(23, 30), 40, 44, 45])


def check(op: OpSpec, context: Context) -> Iterator[Diagnostic]:
    """Report each such default."""
    for argument in op.schema.arguments:
        problem = _problem(argument)
        if problem:
            help = _help(argument)
            yield finding(CODE, Severity.WARNING, op, f"`{argument.name}`: {problem}", argument.mark, help)


def _help(argument: Argument) -> str:
    """Tell what to write: the value that is meant, where there is one."""
    type_, default = str(argument.type), argument.default
    value, text = (default.value, default.text) if default else (None, "")
    if re.fullmatch(r"-?0[xX][0-9a-fA-F]+", text):
        return f"write {int(text, 16)}"
    if type_.startswith("ScalarType"):
        return "write torch's number or name of a dtype, e.g. bfloat16; an int takes torch_npu's numbers"
    if type_.startswith("bool") and value in (0, 1):
        return f"write {bool(value)}"
    if (
        isinstance(value, float)
        and value.is_integer()
        and abs(value) < 2**63
        and type_.rstrip("?") in ("int", "SymInt")
    ):
        return f"write {int(value)}"
    if type_.rstrip("?") == "Tensor":
        return "write Tensor? and the default None"
    return f"write a default of type {type_}"


def _problem(argument: Argument) -> str:
    default = argument.default
    if default is None or default.value is None:
        return ""
    if default.text.lower().startswith(("0x", "-0x")):
        return f"torch reads {default.text} as 0"
    type_ = argument.type.element if isinstance(argument.type, OptionalType) else argument.type
    if isinstance(type_, ListType) and type_.size and isinstance(default.value, tuple):
        # An empty list means "as the kernel does it".
        count = len(default.value)
        return f"the default has {count} values for {argument.type}" if count not in (0, type_.size) else ""
    # `int[2]? x=1` is expanded when the operator is called.
    if not isinstance(type_, BaseType) or _fits(type_.name, default.value):
        return ""
    if type_.name == "ScalarType" and isinstance(default.value, int):
        return f"the default {default.text} is no dtype a kernel takes"
    return f"the default {default.text} is not of type {argument.type}"


def _fits(type_: str, value: DefaultValue) -> bool:
    if type_ in ("bool", "SymBool"):
        return isinstance(value, bool)
    if type_ == "ScalarType":
        return isinstance(value, int) and not isinstance(value, bool) and value in _DTYPES
    if type_ in _INT_TYPES:
        return isinstance(value, int) and not isinstance(value, bool)
    if type_ == "float":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if type_ in ("str", "Device"):
        return isinstance(value, str)
    if type_ in ("Scalar", "number", "complex"):
        return isinstance(value, (bool, int, float, complex))
    return type_ != "Tensor"
