"""A printed expression: its text, its kind, and what it can stand for."""

from __future__ import annotations

from dataclasses import dataclass

from opkit.model.diagnostic import Mark
from opkit.shape.errors import WRONG_KIND, RuleError

# How tightly an expression binds, loosest first; an operand that binds looser is put in parentheses.
CONDITIONAL, OR, AND, NOT, COMPARE, ADD, MULTIPLY, UNARY, ATOM = range(9)

SHAPES = ("shape", "list")


@dataclass(frozen=True)
class Printed:
    """An expression's text, what kind of value it is, and how tightly it binds."""

    text: str
    kind: str
    level: int = ATOM

    def at(self, level: int) -> str:
        """The text, in parentheses if it binds looser than `level`."""
        return self.text if self.level >= level else f"({self.text})"

    @property
    def base(self) -> str:
        """The kind without optionality."""
        return self.kind.rstrip("?")


def coerce(value: Printed, want: str, mark: Mark) -> Printed:
    """Turn a tensor into the part of it that is wanted; refuse what cannot be that."""
    optional = want.endswith("?")
    want = want.rstrip("?")
    if want in ("shape", "dtype") and value.base == "tensor":
        text = f"{value.at(ATOM)}.{want}"
        if optional and value.kind.endswith("?"):
            return Printed(f"None if {value.text} is None else {text}", f"{want}?", CONDITIONAL)
        definite(value, mark)
        return Printed(text, want)
    if want == "value" or (optional and value.base == "none"):
        return value
    if not optional and want != "tensor":
        definite(value, mark)
    if value.base == "value":
        return value
    if want == "shape" and value.base not in SHAPES:
        raise RuleError(WRONG_KIND, f"a shape is needed here, `{value.text}` is {_article(value.base)}", mark,
                        "write a list of sizes, such as [x.size(0), n]")  # fmt: skip
    if want == "dtype" and value.base != "dtype":
        help_ = "use dtype_from_int(...) for a dtype number" if value.base == "int" else ""
        raise RuleError(
            WRONG_KIND, f"a dtype is needed here, `{value.text}` is {_article(value.base)}", mark, help_
        )
    if want == "tensor" and value.base == "shape":
        raise RuleError(WRONG_KIND, f"a tensor is needed here, `{value.text}` is a shape", mark)
    return value


def definite(value: Printed, mark: Mark) -> Printed:
    """Refuse a value that may be None where one is needed."""
    if value.kind.endswith("?"):
        message = f"`{value.text}` may be None here"
        help_ = f"say what then: ... if present({value.text}) else ..., or require present({value.text})"
        raise RuleError(WRONG_KIND, message, mark, help_)
    if value.kind == "none":
        raise RuleError(WRONG_KIND, "None is no size, dtype or number", mark)
    return value


def _article(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"
