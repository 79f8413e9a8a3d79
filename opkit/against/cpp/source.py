"""A C++ source file as tokens: no macro is expanded, all arms of `#if` are read, but for those of `#if 0`."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from opkit.model.diagnostic import Mark

# Which arm of which `#if` a token stands in, outermost first.
Branches = tuple[tuple[int, int], ...]


class Token(NamedTuple):
    """One token; the text of a string is its value."""

    kind: str  # "name", "number", "string" or "op"
    text: str
    start: int
    end: int
    branches: Branches


_TOKEN = re.compile(
    r"(?P<comment>//(?:[^\n\\]|\\.|\\\n)*|/\*.*?(?:\*/|\Z))"
    r"|(?P<directive>(?m:^)[ \t]*\#(?:[^\n\\]|\\.|\\\n)*)"
    r'|(?P<raw>(?:u8|[uUL])?R"(?P<delimiter>[^\s()\\]{0,16})\((?P<inside>.*?)\)(?P=delimiter)")'
    r'|(?P<string>(?:u8|[uUL])?"(?:[^"\\\n]|\\.|\\\n)*")'
    r"|(?P<char>(?:u8|[uUL])?'(?:[^'\\\n]|\\.)*')"
    r"|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<number>\.?\d(?:[\w.']|[eEpP][+-])*)"
    r"|(?P<op>::|->|==|!=|<=|>=|&&|\|\||\+=|-=|\*=|/=|[^\s\w])",
    re.DOTALL,
)
_CONSTANT = re.compile(r"[ \t]*#[ \t]*if[ \t]+(0|1|false|true)[ \t]*(?:/[/*].*)?", re.DOTALL)
_OPENING = {"(": ")", "[": "]", "{": "}"}
_CLOSING = set(_OPENING.values())


class CppSource:
    """One file."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text.replace("\r\n", "\n")
        self._starts = [0, *(i + 1 for i, c in enumerate(self.text) if c == "\n")]
        # Line -> the comments that end on it.
        self.comments: dict[int, str] = {}
        self.tokens = list(self._tokenize())
        # Index of an opening bracket -> index of its closing one.
        self.closing = self._match()

    def _tokenize(self) -> Iterator[Token]:
        branches: list[tuple[int, int]] = []
        constants: dict[int, bool] = {}
        for match in _TOKEN.finditer(self.text):
            kind, start, end = match.lastgroup or "", match.start(), match.end()
            if match["directive"] is not None:
                _directive(match["directive"], start, branches, constants)
            elif any(constants.get(at) is (arm > 0) for at, arm in branches):
                pass  # never compiled
            elif match["raw"] is not None:
                yield Token("string", match["inside"], start, end, tuple(branches))
            elif match["comment"] is not None:
                line = self.line(end - 1)
                self.comments[line] = self.comments.get(line, "") + match["comment"]
            elif kind == "string":
                yield Token("string", _unescape(match["string"]), start, end, tuple(branches))
            elif kind == "char":
                yield Token("number", match["char"], start, end, tuple(branches))
            elif kind in ("name", "number", "op"):
                yield Token(kind, match.group(), start, end, tuple(branches))

    def _match(self) -> dict[int, int]:
        closing: dict[int, int] = {}
        stack: list[tuple[str, int]] = []
        for index, token in enumerate(self.tokens):
            if token.kind != "op":
                continue
            if token.text in _OPENING:
                stack.append((_OPENING[token.text], index))
            elif token.text in _CLOSING:
                # A bracket opened in both arms of an #if has no partner of its own: drop it.
                for depth in range(len(stack) - 1, -1, -1):
                    if stack[depth][0] == token.text:
                        closing[stack[depth][1]] = index
                        del stack[depth:]
                        break
        return closing

    def line(self, offset: int) -> int:
        """Give the line of a character, from 1."""
        return bisect_right(self._starts, offset)

    def mark(self, first: Token, last: Token | None = None) -> Mark:
        """Mark a token, or a run of them as far as it stands on one line."""
        line = self.line(first.start)
        end = (last or first).end
        if self.line(end - 1) != line:
            end = self.text.find("\n", first.start)
        start = self._starts[line - 1]
        return Mark(self.path, line, first.start - start + 1, max(end - first.start, 1))

    def split(self, start: int, end: int) -> list[range]:
        """Split the tokens from `start` to before `end` at the commas that are in no bracket."""
        parts: list[range] = []
        first = index = start
        angle = 0
        while index < end:
            text = self.tokens[index].text if self.tokens[index].kind == "op" else ""
            if text in _OPENING and self.closing.get(index, end) < end:
                index = self.closing[index]
            elif text == "<" and index > start and self.tokens[index - 1].kind == "name":
                angle += 1
            elif text == ">" and angle:
                angle -= 1
            elif text == "," and not angle:
                parts.append(range(first, index))
                first = index + 1
            index += 1
        if first < end:
            parts.append(range(first, end))
        return parts

    def texts(self, span: range) -> list[str]:
        """Give the texts of some tokens."""
        return [self.tokens[i].text for i in span]


def _directive(text: str, start: int, branches: list[tuple[int, int]], constants: dict[int, bool]) -> None:
    """Enter or leave an arm; `constants` keeps what an `#if 0` or `#if 1` says, by its place."""
    word = re.match(r"[ \t]*#[ \t]*(\w*)", text)
    name = word[1] if word else ""
    if name in ("if", "ifdef", "ifndef"):
        branches.append((start, 0))
        if constant := _CONSTANT.fullmatch(text):
            constants[start] = constant[1] in ("1", "true")
    elif name in ("else", "elif", "elifdef", "elifndef") and branches:
        branches[-1] = (branches[-1][0], branches[-1][1] + 1)
    elif name == "endif" and branches:
        branches.pop()


def _unescape(text: str) -> str:
    inside = text[text.index('"') + 1 : -1]
    if "\\" not in inside:
        return inside
    try:
        return str(ast.literal_eval(f'"{inside}"'))
    except (SyntaxError, ValueError):
        return inside
