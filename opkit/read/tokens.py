"""Splitting the text of a schema or a C++ expression into tokens, and the error both parsers raise inside."""

from __future__ import annotations

import re
from typing import NamedTuple

from opkit.read.source import SourceText


class SyntaxProblem(Exception):
    """What a parser could not read; caught inside `opkit.read` and turned into a diagnostic."""

    def __init__(self, code: str, message: str, start: int, end: int, help: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.start = start
        self.end = end
        self.help = help


class Token(NamedTuple):
    """One token: its kind is "name", "number", "string", "end" or, for punctuation, the text itself."""

    kind: str
    text: str
    start: int
    end: int

    def __str__(self) -> str:
        return "the end of the text" if self.kind == "end" else f"`{self.text}`"


# What a Chinese input method types for the punctuation of YAML and schemas.
FULL_WIDTH = {
    "\uff0c": ",",
    "\uff1a": ":",
    "\uff1b": ";",
    "\uff08": "(",
    "\uff09": ")",
    "\u3010": "[",
    "\u3011": "]",
    "\uff1d": "=",
    "\uff01": "!",
    "\uff1f": "?",
    "\u201c": '"',
    "\u201d": '"',
    "\u2018": "'",
    "\u2019": "'",
    "\u3000": " ",
    "\u00a0": " ",
}
_NAME = r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
_STRING = r"""(?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')"""
_REST = r"(?P<bad>\S)"
SCHEMA = re.compile(
    rf"{_NAME}|(?P<number>0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?j?)|{_STRING}"
    rf"|(?P<op>->|::|\.\.\.|[()\[\]?!*|,.=:;-])|{_REST}",
    re.ASCII,
)
CPP = re.compile(
    rf"{_NAME}|(?P<number>(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][+-]?\d+)?[fF]?|\d+[uUlL]*)|{_STRING}"
    rf"|(?P<op>->|::|==|!=|<=|>=|&&|\|\||[()\[\]{{}}<>?:.,*/%+!&-])|{_REST}",
    re.ASCII,
)


def tokenize(source: SourceText, pattern: re.Pattern[str], code: str) -> list[Token]:
    """Split the text; the last token is "end". Raises SyntaxProblem with `code`."""
    tokens = []
    for match in pattern.finditer(source.text):
        kind = match.lastgroup or ""
        text = match.group()
        if kind == "op":
            kind = text
        elif kind == "bad":
            start = match.start()
            if text in "\"'":
                raise SyntaxProblem(
                    code, "string without a closing quote", start, len(source.text), f"close it with {text}"
                )
            help = "types are written without const, & and *" if pattern is SCHEMA and text in "&" else ""
            if text in FULL_WIDTH:
                help = in_ascii(text)
            elif text == ">" and pattern is SCHEMA:
                help = "write the arrow as ->"
            raise SyntaxProblem(code, f"unexpected character `{text}`", start, start + 1, help)
        tokens.append(Token(kind, text, match.start(), match.end()))
    end = len(source.text.rstrip())
    tokens.append(Token("end", "", end, end + 1))
    return tokens


def in_ascii(char: str) -> str:
    """Make a help line for a character of FULL_WIDTH."""
    plain = FULL_WIDTH[char]
    return (
        f"write an ordinary space for U+{ord(char):04X}" if plain == " " else f"write `{plain}` for `{char}`"
    )


class TokenStream:
    """A cursor over tokens."""

    def __init__(self, source: SourceText, tokens: list[Token], code: str) -> None:
        self.source = source
        self.tokens = tokens
        self.position = 0
        self.code = code

    @property
    def current(self) -> Token:
        """The token to be read next."""
        return self.tokens[self.position]

    def peek(self, ahead: int = 1) -> Token:
        """Look past the current token without moving."""
        return self.tokens[min(self.position + ahead, len(self.tokens) - 1)]

    def advance(self) -> Token:
        """Take the current token."""
        token = self.tokens[self.position]
        if token.kind != "end":
            self.position += 1
        return token

    def take(self, kind: str) -> Token | None:
        """Take the current token if it is of this kind."""
        return self.advance() if self.tokens[self.position].kind == kind else None

    def expect(self, kind: str, what: str, help: str = "") -> Token:
        """Take a token of this kind or raise SyntaxProblem saying `what` was expected."""
        token = self.tokens[self.position]
        if token.kind != kind:
            raise self.problem(f"expected {what}, found {token}", token, help=help)
        return self.advance()

    def previous_end(self) -> int:
        """Where the token taken last ends."""
        return self.tokens[self.position - 1].end if self.position else 0

    def problem(self, message: str, token: Token, *, code: str = "", help: str = "") -> SyntaxProblem:
        """Make the error for a token."""
        return SyntaxProblem(code or self.code, message, token.start, token.end, help)
