"""Rule expressions of either dialect to one tree."""

from __future__ import annotations

from typing import Literal

from opkit.model.diagnostic import Diagnostic, Mark, Severity
from opkit.model.expression import Expression
from opkit.read.cpp import parse_cpp
from opkit.read.python import parse_python
from opkit.read.source import SourceText
from opkit.read.tokens import SyntaxProblem

Dialect = Literal["cpp", "python"]


def parse_expression(
    text: str, mark: Mark, dialect: Dialect
) -> tuple[Expression | None, tuple[Diagnostic, ...]]:
    """Parse an expression that stands in its file as it is, beginning at `mark`. Never raises."""
    return parse_expression_source(SourceText.at(text, mark), dialect)


def parse_expression_source(
    source: SourceText, dialect: Dialect, operator: str = ""
) -> tuple[Expression | None, tuple[Diagnostic, ...]]:
    """Parse an expression; None and one diagnostic if it cannot be read."""
    try:
        return (parse_cpp if dialect == "cpp" else parse_python)(source), ()
    except SyntaxProblem as problem:
        mark = source.mark(problem.start, problem.end)
        return None, (
            Diagnostic(problem.code, Severity.ERROR, problem.message, mark, problem.help, operator),
        )
    except RecursionError:
        return None, (
            Diagnostic(
                "OPK020", Severity.ERROR, "the expression is nested too deeply", source.mark(0), "", operator
            ),
        )
