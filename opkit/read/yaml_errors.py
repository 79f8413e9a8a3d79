"""Where a syntax error of YAML was made, and what to do about it.

libyaml says where it could not go on, which is often the line after the mistake.
"""

from __future__ import annotations

import re

import yaml

from opkit.read.tokens import FULL_WIDTH, in_ascii

_QUOTES = "put values that contain , : # [ ] { } in quotes"
_ALIGN = "begin the entries of a list in one column, and the keys of an entry in one column"
_KEY = re.compile(r"\s*(?:- +)*[\w.]+$")
_KEY_AND_VALUE = re.compile(r"\s*(?:- +)*[\w.]+: ")

# Line and column, both from 0.
_Place = tuple[int, int]


def locate(text: str, error: yaml.YAMLError) -> tuple[_Place | None, str]:
    """Give the place of the mistake, None if there is none, and the help."""
    problem = str(getattr(error, "problem", None) or error)
    opened, mark = getattr(error, "context_mark", None), getattr(error, "problem_mark", None)
    mark = mark or opened
    if mark is None:
        # What is UTF-16 to an editor has a NUL in each character.
        return _unprintable(text, error), "save the file as UTF-8" if "\0" in text[
            :4
        ] else "remove the character"
    lines = [*text.split("\n"), ""]
    place = min(mark.line, len(lines) - 1), mark.column
    wide = next(
        (c for line in lines[max(place[0] - 1, 0) : place[0] + 1] for c in _code(line) if c in FULL_WIDTH), ""
    )
    if wide:
        return place, in_ascii(wide)
    if opened is not None:
        first = opened.line, opened.column
        if "end of stream" in problem:
            return first, "close the quote"
        if "could not find expected ':'" in problem:
            return first, "write a `:` and a space after the key; indent a line that continues the one above"
        if "did not find expected ','" in problem and _is_past(lines, opened.line, place[0]):
            return first, f"close the `{text[opened.index]}`"
    if "mapping values" in problem:
        return _not_a_key(lines, place)
    return place, _help(problem, lines[place[0]][place[1] : place[1] + 1])


def _help(problem: str, char: str) -> str:
    if "another document" in problem:
        return "keep one document: remove the `---`"
    if "did not find" in problem and char in ("}", "]"):
        return f"remove the `{char}`, which closes nothing; {_QUOTES}"
    if "expected key" in problem or "'-' indicator" in problem:
        return f"{_ALIGN}; {_QUOTES}"
    if char == "\t" or "tab" in problem:
        return "indent with spaces"
    if "cannot start any token" in problem:
        return f"put a value that begins with `{char}` in quotes"
    return _QUOTES


def _not_a_key(lines: list[str], place: _Place) -> tuple[_Place, str]:
    """Tell why there may be no `:` here: the line above goes on, or a value has a `:` in it."""
    line, column = place
    if not _KEY.match(lines[line][:column]):
        return place, _QUOTES
    above = next((n for n in range(line - 1, -1, -1) if _code(lines[n]).strip()), None)
    if above is None:
        return place, _QUOTES
    start = len(lines[above]) - len(lines[above].lstrip())
    if _KEY_AND_VALUE.match(lines[above]):
        keys = len(lines[above]) - len(lines[above].lstrip(" -"))
        return (
            line,
            len(lines[line]) - len(lines[line].lstrip()),
        ), f"indent it by {keys} spaces, like the key above"
    help = (
        "write a space after the `-`" if lines[above][start:].startswith("-") and ": " in lines[above] else ""
    )
    return (above, start), help or "write key: value, with a `:` and a space after the key"


def _unprintable(text: str, error: yaml.YAMLError) -> _Place | None:
    """Find the character of a ReaderError, one that YAML does not allow. libyaml counts bytes there."""
    position = getattr(error, "position", None)
    if not isinstance(position, int):
        return None
    before = text.encode("utf-8", "surrogatepass")[:position].decode("utf-8", "ignore")
    return before.count("\n"), len(before) - before.rfind("\n") - 1


def _code(line: str) -> str:
    return line.partition("#")[0]


def _is_past(lines: list[str], opened: int, line: int) -> bool:
    """Tell whether a line is one that what was opened on an earlier line cannot reach into."""
    first, last = lines[opened], lines[line]
    return line > opened and len(last) - len(last.lstrip()) <= len(first) - len(first.lstrip())
