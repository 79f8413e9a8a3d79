"""A short cut through the schema parser: arguments in the usual spelling are parsed once and taken again.

A file of op-plugin's size repeats `Tensor self`, `bool keepdim=False` and their like hundreds of times. What
is not in the usual spelling, or has anything wrong with it, is left to the parser.
"""

from __future__ import annotations

import re
from functools import lru_cache

from opkit.model.schema import Argument, ListType, OperatorName, OperatorSchema, Return
from opkit.read.schema import SYNTAX, SchemaParser
from opkit.read.source import SourceText
from opkit.read.spacing import loose_gaps
from opkit.read.tokens import SCHEMA, SyntaxProblem, TokenStream, tokenize
from opkit.read.types import RESERVED_WORDS

_NAME = re.compile(r"([A-Za-z_]\w*)(?:\.([A-Za-z_]\w*))?", re.ASCII)
_NOT_A_NAME = RESERVED_WORDS | {"default"}


def usual_schema(source: SourceText) -> OperatorSchema | None:
    """Read a schema that is `name(a, b, *, c) -> result`, spaced as op-plugin does it; None for any other."""
    head, parenthesis, rest = source.text.partition("(")
    inside, arrow, result = rest.rpartition(") -> ")
    name = _name(head) if parenthesis and arrow else None
    arguments = _arguments(source, inside, len(head) + 1) if name else None
    returns = _returns(result) if arguments is not None else None
    if name is None or arguments is None or returns is None:
        return None
    start = len(source.text) - len(result) - 1
    placed = []
    for r in returns:
        first = start + r.mark.column
        placed.append(Return(r.type, r.name, r.alias, source.mark(first, first + r.mark.length)))
    return OperatorSchema(name, arguments, tuple(placed), source.mark(0, len(source.text)))


def _arguments(source: SourceText, text: str, start: int) -> tuple[Argument, ...] | None:
    found: list[Argument] = []
    kwarg_only = has_default = False
    for part in text.split(", ") if text else ():
        end = start + len(part)
        if part == "*" and not kwarg_only:
            kwarg_only = True
        else:
            before, equals, default = part.partition("=")
            type_, _, name = before.rpartition(" ")
            # A part that was cut out of a list or a string lacks the end of it, and is no argument.
            known = _argument(f"{type_} x{equals}{default}") if _name(name) and "." not in name else None
            if known is None or (has_default and not kwarg_only and _must_not_follow(known)):
                return None
            has_default = has_default or known.default is not None
            mark = source.mark(start, end)
            found.append(Argument(name, known.type, known.default, kwarg_only, known.alias, mark))
        start = end + 2
    if len({argument.name for argument in found}) < len(found) or text.endswith("*"):
        return None
    return tuple(found)


def _must_not_follow(argument: Argument) -> bool:
    """Tell whether the argument must not stand after one with a default."""
    return argument.default is None and not isinstance(argument.type, ListType)


@lru_cache(maxsize=10_000)
def _name(text: str) -> OperatorName | None:
    match = _NAME.fullmatch(text)
    if match is None or match[1] in RESERVED_WORDS or match[2] in _NOT_A_NAME:
        return None
    return OperatorName(match[1], match[2] or "")


@lru_cache(maxsize=10_000)
def _argument(text: str) -> Argument | None:
    """Read an argument called x; the types and defaults of a file are far fewer than its names."""
    parser = _beginning(text + ")")
    try:
        argument = parser.argument(kwarg_only=False) if parser else None
    except (SyntaxProblem, RecursionError):
        return None
    return argument if parser and _is_all_usual(parser, ")") else None


@lru_cache(maxsize=10_000)
def _returns(text: str) -> tuple[Return, ...] | None:
    parser = _beginning(text)
    try:
        returns = parser.returns() if parser else []
    except (SyntaxProblem, RecursionError):
        return None
    return tuple(returns) if parser and _is_all_usual(parser, "end") else None


def _beginning(text: str) -> SchemaParser | None:
    """Begin to parse a part of a schema; None if it has white space around it or cannot be split up."""
    source = SourceText(text, "", (1, 1))
    try:
        tokens = tokenize(source, SCHEMA, SYNTAX)
    except SyntaxProblem:
        return None
    return SchemaParser(TokenStream(source, tokens, SYNTAX)) if text.strip() == text else None


def _is_all_usual(parser: SchemaParser, end: str) -> bool:
    """Tell whether all but the end is read, and there is nothing to say about it."""
    stream = parser.stream
    is_read = stream.current.kind == end and stream.peek().kind == "end"
    return is_read and not parser.diagnostics and not any(loose_gaps(stream.source.text, stream.tokens))
