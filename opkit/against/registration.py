"""What a registration is: which function is registered as what, for which operator."""

from __future__ import annotations

import ast
import enum
from dataclasses import dataclass, field

from opkit.against.python_source import Function, PythonSource
from opkit.model.diagnostic import Mark


class Kind(enum.Enum):
    """What a function is registered as."""

    META = "Meta kernel"
    FAKE = "fake kernel"
    KERNEL = "kernel"
    CONVERTER = "converter"

    @property
    def is_meta(self) -> bool:
        """Tell whether it gives shapes only, whichever API it is registered by."""
        return self in (Kind.META, Kind.FAKE)


# Which arm of which `if` or `try` a registration stands in, outermost first.
Branches = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Registration:
    """One registration."""

    kind: Kind
    namespace: str
    # `base` or `base.overload`.
    name: str
    # None if the function does not stand in this file.
    function: Function | None
    # The name in the text.
    mark: Mark
    source: PythonSource
    branches: Branches


@dataclass(frozen=True)
class Mutates:
    """The `mutates_args` of a custom_op: which arguments its text says it writes."""

    namespace: str
    name: str
    arguments: tuple[str, ...]
    mark: Mark
    source: PythonSource


@dataclass
class Found:
    """What one file registers."""

    registrations: list[Registration]
    # (namespace, name) of operators the file itself defines.
    defined: set[tuple[str, str]]
    # Registrations whose operator cannot be told from the text.
    unclear: list[ast.Call]
    mutates: list[Mutates] = field(default_factory=list)
    # Operators whose converter is registered for no overload, and where.
    packets: list[tuple[str, Mark]] = field(default_factory=list)


def exclusive(one: Branches, other: Branches) -> bool:
    """Tell whether two registrations may well not both run: they depend on different conditions."""
    return bool(one) and bool(other) and one != other
