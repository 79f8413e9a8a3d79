"""An operator's schema as a Python signature: the names, annotations and defaults of its arguments."""

from __future__ import annotations

import keyword
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from opkit.emit.header import quoted
from opkit.model.schema import (
    Argument,
    BaseType,
    ListType,
    OperatorSchema,
    OptionalType,
    Return,
    Type,
    base_of,
)
from opkit.shape.constants import LAYOUTS, MEMORY_FORMATS, SCALAR_TYPES

_ANNOTATIONS = {
    "Tensor": "Tensor",
    "int": "int",
    "SymInt": "int",
    "float": "float",
    "bool": "bool",
    "str": "str",
    "complex": "complex",
    "Scalar": "complex",
    "ScalarType": "torch.dtype",
    "Device": "torch.device",
    "Layout": "torch.layout",
    "MemoryFormat": "torch.memory_format",
    "Generator": "torch.Generator",
    "Dimname": "str",
}
# Types whose default the dispatcher stores as a number but hands to Python as an object.
_ENUMS = {"ScalarType": SCALAR_TYPES, "MemoryFormat": MEMORY_FORMATS, "Layout": LAYOUTS}


@dataclass(frozen=True)
class Signature:
    """The Python signature of an operator."""

    # As printed between the parentheses, with a lone "*" before keyword-only ones.
    parameters: tuple[str, ...]
    # Argument name -> its name in Python.
    spelling: Mapping[str, str]
    # Lines that must open the body: keyword-only arguments whose name Python cannot write as a parameter.
    prologue: tuple[str, ...]
    returns: str

    def arguments(self, schema: OperatorSchema) -> tuple[str, ...]:
        """The arguments of a call that passes everything on."""
        return (
            *(self.spelling[a.name] for a in schema.positional),
            *(_named(a.name, self.spelling[a.name]) for a in schema.keyword_only),
        )


def signature(schema: OperatorSchema, taken: Collection[str] = ()) -> Signature:
    """Make the signature; names in `taken`, and Python's keywords, are not used for arguments.

    A positional argument is renamed, since the dispatcher passes it by position. A keyword-only one is passed
    by name and so must be taken out of `**keywords`. Defaults are the schema's.
    """
    names = {a.name for a in schema.arguments}
    spelling = {a.name: _safe(a.name, names, taken) for a in schema.arguments}
    parameters = [parameter(a, spelling[a.name]) for a in schema.positional]
    plain = [a for a in schema.keyword_only if spelling[a.name] == a.name]
    if plain:
        parameters += ["*", *(parameter(a, a.name) for a in plain)]
    prologue = []
    renamed = [a for a in schema.keyword_only if spelling[a.name] != a.name]
    if renamed:
        rest = _safe("keywords", names, taken)
        parameters.append(f"**{rest}")
        for a in renamed:
            default = "" if a.default is None else f", {default_text(a)}"
            prologue.append(f"{spelling[a.name]} = {rest}.pop({quoted(a.name)}{default})")
    return Signature(tuple(parameters), spelling, tuple(prologue), returns_annotation(schema.returns))


def _named(name: str, value: str) -> str:
    """Print an argument passed by name, also by one that Python reserves."""
    return f"**{{{quoted(name)}: {value}}}" if keyword.iskeyword(name) else f"{name}={value}"


def _safe(name: str, names: Collection[str], taken: Collection[str]) -> str:
    safe = name
    while keyword.iskeyword(safe) or safe in taken or (safe != name and safe in names):
        safe += "_"
    return safe


def parameter(argument: Argument, name: str) -> str:
    """Print one parameter."""
    type_ = annotation(argument.type)
    if argument.default is None:
        return f"{name}: {type_}"
    if isinstance(argument.default.value, tuple):
        type_ = type_.replace("list[", "Sequence[", 1)
    return f"{name}: {type_} = {default_text(argument)}"


def annotation(type_: Type) -> str:
    """Print a schema type as an annotation."""
    if isinstance(type_, OptionalType):
        return f"{annotation(type_.element)} | None"
    if isinstance(type_, ListType):
        return f"list[{annotation(type_.element)}]"
    return _ANNOTATIONS.get(type_.name, "object")


def returns_annotation(returns: tuple[Return, ...]) -> str:
    """Print the annotation of the results."""
    types = [annotation(r.type) for r in returns]
    if not types:
        return "None"
    return types[0] if len(types) == 1 else f"tuple[{', '.join(types)}]"


def default_text(argument: Argument) -> str:
    """Print a default as the value the dispatcher would pass if it did not leave equal arguments out.

    A list is printed as a tuple: a default is made once, and shared by all calls.
    """
    assert argument.default is not None
    return _value_text(argument.default.value, base_of(argument.type))


def _value_text(value: object, base: BaseType) -> str:
    if isinstance(value, tuple):
        items = [_value_text(item, base) for item in value]
        return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
    if base.name in _ENUMS and type(value) is int and 0 <= value < len(_ENUMS[base.name]):
        return f"torch.{_ENUMS[base.name][value]}"
    if base.name == "Device" and isinstance(value, str):
        return f"torch.device({quoted(value)})"
    return quoted(value) if isinstance(value, str) else repr(value)
