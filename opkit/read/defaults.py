"""The default of an argument: the value torch's schema parser makes of it.

From `parseDefaultValue` in torch/csrc/jit/frontend/function_schema_parser.cpp (torch 2.6 to 2.13). Where
torch silently makes something odd of a default (`int x=0x10` is 0, `bool b=1` stays the int 1) the same value
is kept.
"""

from __future__ import annotations

import ast
import re

from opkit.model.schema import BaseType, Default, DefaultValue, ListType, OptionalType, Type
from opkit.read.tokens import Token, TokenStream
from opkit.read.types import DEVICE_TYPES, ENUM_DEFAULTS, SCALAR_TYPES

CODE = "OPK013"
# Types that are an int by the time a default is parsed.
_INT_TYPES = frozenset(
    ["int", "SymInt", "ScalarType", "Layout", "MemoryFormat", "ConstQuantizerPtr", "DeviceIndex"]
)
_CONSTANT_TYPES = _INT_TYPES | {"float", "complex", "bool", "SymBool", "str", "Scalar", "number", "Dimname"}
# Types whose only default is None.
_NONE_TYPES = frozenset(["Tensor", "Generator", "Quantizer"])
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_INT64 = range(-(2**63), 2**63)


def parse_default(stream: TokenStream, type_: Type) -> Default:
    """Read what follows the `=`. Raises SyntaxProblem for what torch refuses."""
    start = stream.current.start
    value = _value(stream, type_)
    return Default(value, stream.source.text[start : stream.previous_end()])


def _value(stream: TokenStream, type_: Type) -> DefaultValue:
    if isinstance(type_, OptionalType):
        return _constant(stream, type_)
    if isinstance(type_, ListType):
        return _list(stream, type_)
    if type_.name in _NONE_TYPES:
        if stream.current.text != "None":
            help = f"write {type_}? and the default None" if type_.name == "Tensor" else "write None"
            raise stream.problem(
                f"the only default of type {type_} is None, found {stream.current}",
                stream.current,
                code=CODE,
                help=help,
            )
        stream.advance()
        return None
    if type_.name == "Device":
        return _device(stream)
    if type_.name not in _CONSTANT_TYPES:
        raise stream.problem(
            f"{type_} cannot have a default",
            stream.current,
            code=CODE,
            help=f"write {type_}? and the default None",
        )
    return _constant(stream, type_)


def _device(stream: TokenStream) -> DefaultValue:
    token = stream.current
    if token.kind != "string":
        help = "Device? device=None takes None" if token.text == "None" else 'write it in quotes, e.g. "cpu"'
        raise stream.problem(f"the default of Device is a string, found {token}", token, code=CODE, help=help)
    value = _string(stream, stream.advance())
    kind, _, index = value.partition(":")
    if kind not in DEVICE_TYPES or (index and not index.isdigit()):
        raise stream.problem(
            f"torch does not know the device {token}",
            token,
            code=CODE,
            help="write Device? and the default None",
        )
    return value


def _list(stream: TokenStream, type_: ListType) -> DefaultValue:
    element = type_.element
    token = stream.current
    if token.kind == "[":
        stream.advance()
        values: list[DefaultValue] = []
        if stream.current.kind != "]":
            values.append(_element(stream, element))
            while stream.take(","):
                values.append(_element(stream, element))
        stream.expect("]", "`]` at the end of the list")
        _check_list_type(stream, element, token)
        return tuple(values)
    if (token.kind == "name" and token.text not in ("True", "False")) or type_.size is None:
        help = "write [] for an empty list, e.g. int[] dims=[]"
        if token.text == "None":
            help = f"write {type_}? and the default None"
        elif token.kind == "(":
            help = "write the list in square brackets"
        raise stream.problem(f"the default of {type_} is a list, found {token}", token, code=CODE, help=help)
    _check_list_type(stream, element, token)
    value = _element(stream, element)
    return (value,) * type_.size


def _check_list_type(stream: TokenStream, element: Type, token: Token) -> None:
    if not isinstance(element, BaseType) or element.name not in _INT_TYPES | {"float", "complex", "bool"}:
        raise stream.problem(
            f"a list of {element} cannot have a default; lists of int, SymInt, float, complex and bool can",
            token,
            code=CODE,
            help=f"write {element}[]? and the default None",
        )


def _element(stream: TokenStream, element: Type) -> DefaultValue:
    token = stream.current
    value = _constant(stream, element)
    name = element.name if isinstance(element, BaseType) else ""
    wanted = bool if name == "bool" else int if name in _INT_TYPES else float if name == "float" else None
    if wanted is not None and type(value) is not wanted:
        help = f"write values of type {element}"
        if wanted is int and isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
            help = f"write {int(value)}"
        elif wanted is bool and value in (0, 1):
            help = f"write {bool(value)}"
        raise stream.problem(f"expected {element}, found {token}", token, code=CODE, help=help)
    return value


def _constant(stream: TokenStream, type_: Type) -> DefaultValue:
    token = stream.advance()
    if token.kind == "string":
        return _string(stream, token)
    if token.kind == "name":
        return _name(stream, token, type_)
    sign = ""
    if token.kind == "-":
        sign, token = "-", stream.current
        stream.advance()
    if token.kind != "number":
        raise stream.problem(f"expected a default, found {token}", token, code=CODE)
    return _number(stream, token, sign, type_)


def _name(stream: TokenStream, token: Token, type_: Type) -> DefaultValue:
    text = token.text
    if text in ("True", "False", "None"):
        return {"True": True, "False": False, "None": None}[text]
    if text in ENUM_DEFAULTS:
        return ENUM_DEFAULTS[text]
    inner = type_.element if isinstance(type_, OptionalType) else type_
    if inner == BaseType("ScalarType") and text in SCALAR_TYPES:
        return SCALAR_TYPES[text]
    help = {
        "true": "write True",
        "false": "write False",
        "none": "write None",
        "inf": "a schema cannot hold an infinity; write float? and the default None, or a large number",
        "nan": "a schema cannot hold a NaN; write float? and the default None",
        "Sum": "write the number: int reduction=2",
        "None_": "write the number: int reduction=0",
        "preserve_format": "write the number: MemoryFormat? memory_format=1, or None",
        "channels_last": "write the number: MemoryFormat? memory_format=2",
    }.get(
        text, "names allowed here: True, False, None, Mean, contiguous_format, strided, float, long, complex"
    )
    if inner == BaseType("ScalarType"):
        help = "write a dtype name in lower case, e.g. float16, bfloat16, int8"
    elif inner == BaseType("str"):
        help = f'write the string in quotes: "{text}"'
    elif text in ("null", "none", "nullptr", "nullopt"):
        help = "write None"
    raise stream.problem(f"`{text}` is no default the schema language knows", token, code=CODE, help=help)


def _number(stream: TokenStream, token: Token, sign: str, type_: Type) -> DefaultValue:
    text = token.text
    if text.endswith("j"):
        return complex(0, float(sign + text[:-1]))
    if type_ == BaseType("complex"):
        raise stream.problem(
            "a complex default is written as an imaginary number", token, code=CODE, help="e.g. complex c=1j"
        )
    if text[:2] in ("0x", "0X"):
        # torch reads the digits before the x and drops the rest.
        return 0
    if type_ == BaseType("float") or "." in text or "e" in text:
        return float(sign + text)
    if "E" in text:
        # torch looks for a small `e` only, so this is the int before the `E`.
        return int(sign + text.partition("E")[0])
    value = int(sign + text)
    if value not in _INT64:
        help = f"an int is from {_INT64.start} to {_INT64.stop - 1}"
        raise stream.problem(f"{sign}{text} does not fit into 64 bits", token, code=CODE, help=help)
    return value


def _string(stream: TokenStream, token: Token) -> str:
    if "\\" not in token.text:
        return token.text[1:-1]
    unsupported = next((e for e in _ESCAPE.findall(token.text) if e in "xuUN"), None)
    if unsupported:
        message = f"the schema language has no escape \\{unsupported}"
        raise stream.problem(message, token, code=CODE, help="write the character itself")
    try:
        return str(ast.literal_eval(token.text))
    except (SyntaxError, ValueError) as error:
        raise stream.problem(f"bad escape in the string: {error}", token, code=CODE) from None
