"""The tree both rule dialects are parsed to: the C++ one of `gen_opapi` and the Python-like one of `meta`.

The tree keeps what was written, not what it means; `opkit.shape` gives it meaning. Operators are named by
their Python spelling (`&&` is stored as "and", C++ `/` as "//" since it divides integers).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union

from opkit.model.diagnostic import Mark


@dataclass(frozen=True)
class Literal:
    """A number, string, True/False or None."""

    value: int | float | str | bool | None
    mark: Mark


@dataclass(frozen=True)
class Name:
    """An argument, a `let` binding, a result, or a qualified constant such as `at::kFloat`."""

    name: str
    mark: Mark


@dataclass(frozen=True)
class Attribute:
    """`value.name` (C++ `value->name` too)."""

    value: Expression
    name: str
    mark: Mark


@dataclass(frozen=True)
class Call:
    """`function(arguments)`; the function is a Name (helper) or an Attribute (method)."""

    function: Name | Attribute
    arguments: tuple[Expression, ...]
    mark: Mark


@dataclass(frozen=True)
class Index:
    """`value[index]`, also `std::get<index>(value)`."""

    value: Expression
    index: Expression
    mark: Mark


@dataclass(frozen=True)
class Slice:
    """`value[start:stop]`."""

    value: Expression
    start: Expression | None
    stop: Expression | None
    mark: Mark


@dataclass(frozen=True)
class Unary:
    """`-value`, `not value`."""

    operator: str
    value: Expression
    mark: Mark


@dataclass(frozen=True)
class Binary:
    """`left operator right`: + - * // % == != < <= > >= and or in."""

    operator: str
    left: Expression
    right: Expression
    mark: Mark


@dataclass(frozen=True)
class Conditional:
    """`then if condition else otherwise`, C++ `condition ? then : otherwise`."""

    condition: Expression
    then: Expression
    otherwise: Expression
    mark: Mark


@dataclass(frozen=True)
class Sequence:
    """`[a, b]`, C++ `{a, b}` and `c10::SmallVector<...>{a, b}`."""

    items: tuple[Expression, ...]
    mark: Mark


@dataclass(frozen=True)
class Comprehension:
    """`[element for name in values]`."""

    element: Expression
    name: str
    values: Expression
    mark: Mark


Expression = Union[
    Literal, Name, Attribute, Call, Index, Slice, Unary, Binary, Conditional, Sequence, Comprehension
]
