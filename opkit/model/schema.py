"""An operator's schema: the typed form of `ns::name.overload(Tensor(a!) x, *, int n=1) -> Tensor`.

The tree represents the dispatcher's schema, not C++. It is lossless: printing a schema gives text that
means the same (see `str(OperatorSchema)`), with spacing made canonical.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Union

from opkit.model.diagnostic import Mark


@dataclass(frozen=True)
class BaseType:
    """A type without structure, by its schema name: Tensor, int, SymInt, float, bool, str, Scalar, ..."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class OptionalType:
    """`T?`."""

    element: Type

    def __str__(self) -> str:
        return f"{self.element}?"


@dataclass(frozen=True)
class ListType:
    """`T[]`, or `T[N]` when `size` is given."""

    element: Type
    size: int | None = None

    def __str__(self) -> str:
        return f"{self.element}[{'' if self.size is None else self.size}]"


Type = Union[BaseType, OptionalType, ListType]


def base_of(type_: Type) -> BaseType:
    """Strip every `?` and `[]`."""
    while not isinstance(type_, BaseType):
        type_ = type_.element
    return type_


def is_tensor_like(type_: Type) -> bool:
    """Tell whether a value of this type is or contains tensors."""
    return base_of(type_).name == "Tensor"


@dataclass(frozen=True)
class Alias:
    """An alias annotation: `(a)`, `(a!)`, `(a -> *)`, `(a! -> a|b)`."""

    # Sorted, so that equal annotations compare equal. ("*",) is the wildcard set.
    before: tuple[str, ...]
    is_write: bool
    # Empty unless written with an arrow.
    after: tuple[str, ...] = ()

    def __str__(self) -> str:
        arrow = f" -> {'|'.join(self.after)}" if self.after else ""
        return f"({'|'.join(self.before)}{'!' if self.is_write else ''}{arrow})"


# What a default can be once parsed. A list default is a tuple; an enum name such as `Mean`, `float16` or
# `contiguous_format` is the `int` it stands for; a device is its text.
DefaultValue = Union[None, bool, int, float, complex, str, tuple]  # type: ignore[type-arg]


@dataclass(frozen=True)
class Default:
    """An argument's default: the value the dispatcher uses and the text it was written as."""

    value: DefaultValue
    text: str


@dataclass(frozen=True)
class Argument:
    """One argument of a schema."""

    name: str
    type: Type
    default: Default | None
    kwarg_only: bool
    alias: Alias | None
    mark: Mark

    @property
    def is_mutated(self) -> bool:
        """Tell whether the operator writes this argument."""
        return self.alias is not None and self.alias.is_write

    @property
    def is_tensor(self) -> bool:
        """Plain `Tensor`."""
        return self.type == BaseType("Tensor")

    @property
    def is_optional(self) -> bool:
        """`T?` at the outermost level."""
        return isinstance(self.type, OptionalType)

    def __str__(self) -> str:
        default = "" if self.default is None else f"={self.default.text}"
        return f"{annotated(self.type, self.alias)} {self.name}{default}"


@dataclass(frozen=True)
class Return:
    """One result of a schema."""

    type: Type
    name: str | None
    alias: Alias | None
    mark: Mark

    def __str__(self) -> str:
        name = "" if self.name is None else f" {self.name}"
        return f"{annotated(self.type, self.alias)}{name}"


def is_tensor_list(type_: Type) -> bool:
    """Tell whether this is `Tensor[]`."""
    return isinstance(type_, ListType) and type_.element == BaseType("Tensor")


def annotated(type_: Type, alias: Alias | None) -> str:
    """Print a type with its alias annotation where the dispatcher wants it: `Tensor(a!)[]`, `Tensor(a!)?`."""
    if alias is None:
        return str(type_)
    base = str(base_of(type_))
    return base + str(alias) + str(type_)[len(base) :]


@dataclass(frozen=True)
class OperatorName:
    """`namespace::base.overload`; namespace and overload may be empty."""

    base: str
    overload: str = ""
    namespace: str = ""

    @property
    def qualified(self) -> str:
        """`namespace::base.overload`, the dispatcher's name."""
        return f"{self.namespace}::{self}" if self.namespace else str(self)

    @property
    def python(self) -> str:
        """`torch.ops.<namespace>.<base>.<overload>` without the `torch.ops.` in front."""
        return f"{self.namespace}.{self.base}.{self.overload or 'default'}"

    def __str__(self) -> str:
        return f"{self.base}.{self.overload}" if self.overload else self.base


@dataclass(frozen=True)
class OperatorSchema:
    """A whole schema."""

    name: OperatorName
    # In the order written; keyword-only ones come after all positional ones.
    arguments: tuple[Argument, ...]
    returns: tuple[Return, ...]
    mark: Mark

    @cached_property
    def positional(self) -> tuple[Argument, ...]:
        """Arguments before the `*`."""
        return tuple(a for a in self.arguments if not a.kwarg_only)

    @cached_property
    def keyword_only(self) -> tuple[Argument, ...]:
        """Arguments after the `*`."""
        return tuple(a for a in self.arguments if a.kwarg_only)

    @cached_property
    def mutated(self) -> tuple[Argument, ...]:
        """Arguments the operator writes."""
        return tuple(a for a in self.arguments if a.is_mutated)

    def argument(self, name: str) -> Argument | None:
        """Find an argument by name."""
        return next((a for a in self.arguments if a.name == name), None)

    def signature(self) -> str:
        """`(arguments) -> returns`, canonical."""
        parts = [str(a) for a in self.positional]
        if self.keyword_only:
            parts += ["*", *(str(a) for a in self.keyword_only)]
        if len(self.returns) == 1 and self.returns[0].name is None:
            returns = str(self.returns[0])
        else:
            returns = f"({', '.join(str(r) for r in self.returns)})"
        return f"({', '.join(parts)}) -> {returns}"

    def __str__(self) -> str:
        return f"{self.name}{self.signature()}"
