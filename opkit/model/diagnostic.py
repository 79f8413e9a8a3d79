"""Where something stands in a file, and what is wrong there."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import NamedTuple


class Mark(NamedTuple):
    """A place in a source file. Line and column count from 1; `length` characters are underlined.

    A tuple, since reading a file makes tens of thousands of them.
    """

    file: str
    line: int
    column: int
    length: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class Severity(enum.Enum):
    """How much a finding weighs. Only errors and warnings make `opkit check` exit with 1."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True)
class Diagnostic:
    """One finding: the message says what is wrong, the help says what to do about it."""

    # Stable and greppable: "OPK012". `opkit explain OPK012` prints its page.
    code: str
    severity: Severity
    message: str
    # None only for findings about a file as a whole that has no text, e.g. one that cannot be opened.
    mark: Mark | None
    help: str = ""
    # The operator the finding is about, as "name.overload", where there is one.
    operator: str = ""
    # Further places that belong to the finding, e.g. where the first of two equal names stands.
    related: tuple[tuple[str, Mark], ...] = ()


def has_errors(diagnostics: tuple[Diagnostic, ...] | list[Diagnostic]) -> bool:
    """Tell whether any of the findings is an error."""
    return any(d.severity is Severity.ERROR for d in diagnostics)
