"""Findings for people: one line each, or with the source line and a caret under the exact place."""

from __future__ import annotations

import textwrap
import unicodedata
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click

from opkit.model.diagnostic import Diagnostic, Mark, Severity

_COLORS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}
# Categories of Unicode: controls, directions, surrogates, ends of lines and paragraphs.
_UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
# Schemas run to hundreds of characters; an excerpt shows this much of a line.
_WIDTH = 110
# Warnings and notes of one code and file: of more than _MANY the first _SHOWN stand in full.
_MANY, _SHOWN = 10, 3


def render(diagnostics: Sequence[Diagnostic], format: str, color: bool) -> str:
    """Render as "full" or "concise"."""
    painter = _Painter(color)
    if format == "concise":
        return "".join(_concise(d, painter) for d in diagnostics)
    counts = Counter(_kind(d) for d in diagnostics)
    shown: Counter[tuple[object, ...]] = Counter()
    parts = []
    for d in diagnostics:
        kind = _kind(d)
        shown[kind] += 1
        if counts[kind] <= _MANY or shown[kind] <= _SHOWN:
            parts.append(_full(d, painter))
        elif shown[kind] == _SHOWN + 1:
            alike = [other for other in diagnostics if _kind(other) == kind][_SHOWN:]
            parts.append(_group(alike, painter))
    return "\n".join(parts)


def _kind(d: Diagnostic) -> tuple[object, ...]:
    """Tell what is shown as one of many; errors always stand alone."""
    if d.severity is Severity.ERROR or d.mark is None:
        return (id(d),)
    return (d.code, d.severity, d.mark.file)


def _group(alike: list[Diagnostic], painter: _Painter) -> str:
    """Name the operators, or the lines, of further findings of a code."""
    d = alike[0]
    head = painter.paint(f"{d.code} {d.severity.value}:", _COLORS[d.severity])
    # A name and its line stay together.
    names = (f"{other.operator or 'line'}\u00a0({other.mark.line})" for other in alike if other.mark)
    listed = textwrap.fill(", ".join(names), _WIDTH, initial_indent="  ", subsequent_indent="  ")
    listed = listed.replace("\u00a0", " ")
    file = d.mark.file if d.mark else ""
    return (
        f"{head} {len(alike)} more like these in {file}, by operator (line):\n{visible(listed)}\n"
        f"{painter.paint('help:', 'green')} `opkit explain {d.code}`; --format concise tells each\n"
    )


class _Painter:
    def __init__(self, color: bool) -> None:
        self.color = color
        self.files: dict[str, list[str] | None] = {}

    def paint(self, text: str, color: str, bold: bool = True) -> str:
        return click.style(text, fg=color, bold=bold) if self.color else text

    def line(self, mark: Mark) -> str | None:
        """Read a line of a source file; None if the file is gone or shorter."""
        if mark.file not in self.files:
            self.files[mark.file] = _lines(Path(mark.file))
        lines = self.files[mark.file]
        return lines[mark.line - 1].rstrip("\r") if lines and mark.line <= len(lines) else None


def _lines(path: Path) -> list[str] | None:
    try:
        # A pipe cannot be read twice; opening one again may wait for ever.
        if not path.is_file():
            return None
        return path.read_text(encoding="utf-8-sig", errors="replace").split("\n")
    except OSError:
        return None


def _concise(d: Diagnostic, painter: _Painter) -> str:
    place = f"{d.mark}: " if d.mark else ""
    code = painter.paint(f"{d.severity.value} {d.code}", _COLORS[d.severity])
    return f"{place}{code} {visible(d.message)}\n"


def _full(d: Diagnostic, painter: _Painter) -> str:
    color = _COLORS[d.severity]
    lines = [f"{painter.paint(f'{d.code} {d.severity.value}:', color)} {visible(d.message)}"]
    if d.mark:
        lines += _excerpt(d.mark, painter, color, "^")
    for text, mark in d.related:
        lines.append(f"note: {text}")
        lines += _excerpt(mark, painter, "cyan", "-")
    if d.help:
        lines.append(f"{painter.paint('help:', 'green')} {visible(d.help)}")
    return "\n".join(lines) + "\n"


def _excerpt(mark: Mark, painter: _Painter, color: str, underline: str) -> list[str]:
    line = painter.line(mark)
    width = len(str(mark.line))
    arrow = painter.paint(f"{' ' * width}-->", "blue")
    if line is None:
        return [f"{arrow} {mark}"]
    start = mark.column - 1
    text, start = _window(visible(line.replace("\t", " ")), start, mark.length)
    pad = " " * _columns(text[:start])
    length = max(_columns(text[start : start + mark.length]), 1)
    bar = painter.paint(f"{' ' * width} |", "blue")
    number = painter.paint(f"{mark.line} |", "blue")
    return [
        f"{arrow} {mark}",
        bar,
        f"{number} {text}",
        f"{bar} {pad}{painter.paint(underline * length, color)}",
    ]


def visible(text: str) -> str:
    """Show characters that would steer a terminal or turn the direction of writing, one for one."""
    if text.isprintable():
        return text
    return "".join(_stand_in(c) if unicodedata.category(c) in _UNSEEN and c != "\n" else c for c in text)


def _stand_in(character: str) -> str:
    code = ord(character)
    # Unicode has a picture of each control character of ASCII.
    return chr(0x2400 + code) if code < 0x20 else "\u2421" if code == 0x7F else "\ufffd"


def _window(line: str, start: int, length: int) -> tuple[str, int]:
    """Cut a long line to the part around the place; gives the part and where the place is in it."""
    if len(line) <= _WIDTH:
        return line, start
    room = max(_WIDTH - min(length, _WIDTH), 0)
    first = max(0, min(start - room // 2, len(line) - _WIDTH))
    last = first + _WIDTH
    head, tail = ("..." if first else ""), ("..." if last < len(line) else "")
    return head + line[first:last] + tail, start - first + len(head)


def _columns(text: str) -> int:
    """How many terminal columns a text takes: Chinese characters take two."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
