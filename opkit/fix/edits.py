"""What can be put right in the text of one schema without asking anybody."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from opkit.model.diagnostic import Mark
from opkit.model.schema import BaseType, Default, OperatorSchema, OptionalType
from opkit.read.schema import BARE_MUTATION, RETURNS_NONE, SYNTAX, alias_letters, parse_schema_source
from opkit.read.source import SourceText
from opkit.read.spacing import CODE as SPACING
from opkit.read.spacing import loose_gaps
from opkit.read.tokens import SCHEMA, Token, tokenize

DEFAULT_KIND = "OPK112"

_INT_TYPES = (BaseType("int"), BaseType("SymInt"))
_NOWHERE = Mark("", 1, 1)


@dataclass(frozen=True)
class Edit:
    """Characters `start` to before `end` of a schema's text become `text`."""

    code: str
    start: int
    end: int
    text: str
    # What it mends, for the report.
    what: str


def find_edits(source: SourceText) -> tuple[OperatorSchema | None, list[Edit]]:
    """Find what is mechanical, in the order of the text; nothing for a schema with an error."""
    schema, _ = parse_schema_source(source)
    if schema is None:
        return None, []
    tokens = tokenize(source, SCHEMA, SYNTAX)
    edits = [*_spacing(source, tokens), *_letters(tokens), *_no_result(tokens), *_defaults(schema, tokens)]
    return schema, sorted(edits, key=lambda edit: (edit.start, edit.end))


def apply(text: str, edits: Sequence[Edit]) -> str:
    """Make the edits, which are in order and do not overlap."""
    parts, last = [], 0
    for edit in edits:
        parts += [text[last : edit.start], edit.text]
        last = edit.end
    return "".join([*parts, text[last:]])


def same_meaning(before: OperatorSchema, after: OperatorSchema) -> bool:
    """Tell whether two schemas differ in nothing but an int default that was written as a float."""
    return _bare(before) == _bare(after)


def _bare(schema: OperatorSchema) -> OperatorSchema:
    """Leave out places and spellings."""
    arguments = tuple(
        replace(a, mark=_NOWHERE, default=_value(a.type in _int_types(), a.default)) for a in schema.arguments
    )
    returns = tuple(replace(r, mark=_NOWHERE) for r in schema.returns)
    return replace(schema, mark=_NOWHERE, arguments=arguments, returns=returns)


def _value(is_int: bool, default: Default | None) -> Default | None:
    if default is None:
        return None
    value = default.value
    if is_int and isinstance(value, float) and value.is_integer():
        value = int(value)
    # True == 1 == 1.0 to Python.
    return Default(value, type(value).__name__)


def _int_types() -> tuple[BaseType | OptionalType, ...]:
    return (*_INT_TYPES, *(OptionalType(type_) for type_ in _INT_TYPES))


def _spacing(source: SourceText, tokens: list[Token]) -> Iterator[Edit]:
    for before, after, wanted in loose_gaps(source.text, tokens):
        yield Edit(SPACING, before.end, after.start, wanted, "spacing")


def _letters(tokens: list[Token]) -> Iterator[Edit]:
    """Give each `Tensor!` the letter that the reader gives it."""
    in_annotation = False
    used: set[str] = set()
    bare: list[Token] = []
    for before, token in zip(tokens[1:], tokens[2:]):
        if token.kind == "(" and (before.text == "Tensor" or before.kind == "]"):
            in_annotation = True
        elif token.kind == ")":
            in_annotation = False
        elif in_annotation and token.kind == "name":
            used.add(token.text)
        elif token.kind == "!" and not in_annotation:
            bare.append(token)
    letters = (letter for letter in alias_letters() if letter not in used)
    for token, letter in zip(bare, letters):
        yield Edit(BARE_MUTATION, token.start, token.end, f"({letter}!)", f"`!` is now ({letter}!)")


def _no_result(tokens: list[Token]) -> Iterator[Edit]:
    arrow, result = tokens[-3:-1]
    if arrow.kind == "->" and result.text in ("None", "NoneType"):
        yield Edit(RETURNS_NONE, result.start, result.end, "()", f"-> {result.text} is now -> ()")


def _defaults(schema: OperatorSchema, tokens: list[Token]) -> Iterator[Edit]:
    """Write `int n=2.0` as an int."""
    for argument in schema.arguments:
        value = argument.default.value if argument.default else None
        if argument.type not in _int_types() or not isinstance(value, float) or not value.is_integer():
            continue
        if abs(value) >= 2**53:
            # Beyond this a float need not be the number that was written.
            continue
        index = next(i for i, t in enumerate(tokens) if t.text == argument.name and tokens[i + 1].kind == "=")
        first = tokens[index + 2]
        last = tokens[index + 3] if first.kind == "-" else first
        text = str(int(value))
        what = f"the default of `{argument.name}` is now {text}"
        yield Edit(DEFAULT_KIND, first.start, last.end, text, what)
