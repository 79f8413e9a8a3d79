"""Mending the schemas of a whole file and nothing else in it, byte for byte."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Callable

import yaml

from opkit.errors import OpkitError
from opkit.fix.edits import Edit, apply, find_edits, same_meaning
from opkit.model.diagnostic import Mark
from opkit.read.document import Document
from opkit.read.file import SECTIONS, plain_lines
from opkit.read.schema import parse_schema_source
from opkit.read.source import SourceText

_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True)
class Fix:
    """One thing that was put right."""

    code: str
    operator: str
    what: str
    mark: Mark


@dataclass
class Fixed:
    """A file's new text; equal to the old one if nothing could be done."""

    text: str
    fixes: list[Fix] = field(default_factory=list)


def fix_text(text: str, path: str, wanted: Callable[[str, int], bool]) -> Fixed:
    """Mend what is mechanical in the schemas of a file, where `wanted(code, line)`.

    The text is the file's as it is, with its line ends and byte order mark. Raises OpkitError if the new text
    would say anything else than the old one, apart from what was to be mended; nothing should ever do that.
    """
    document = Document(path, plain_lines(text))
    root = document.compose()
    if root is None or document.diagnostics:
        return Fixed(text)
    raw = _RawText(text)
    fixed = Fixed(text)
    changes: list[tuple[int, int, str]] = []
    values: dict[int, str] = {}
    for node in _schema_nodes(root):
        if node.start_mark.index in values:
            continue
        source = document.source(node)
        edits = _sure(raw, source, wanted)
        values[node.start_mark.index] = apply(source.text, edits)
        changes += [(*raw.span(source, edit), edit.text) for edit in edits]
        fixed.fixes += _report(source, edits)
    fixed.text = _rewritten(text, changes)
    if changes:
        _verify(document, root, values, fixed.text)
    return fixed


class _RawText:
    """The file's own text, found by the line and column of the text that is read."""

    def __init__(self, text: str) -> None:
        self.text = text
        first = len(text) - len(text.lstrip("\ufeff"))
        self.lines = [first, *(match.end() for match in _LINE_END.finditer(text))]

    def index(self, source: SourceText, offset: int) -> int:
        line, column = source.place(offset)
        return self.lines[line - 1] + column - 1

    def span(self, source: SourceText, edit: Edit) -> tuple[int, int]:
        """Find what the edit replaces; between two characters, right after the first of them."""
        start = self.index(source, edit.start - 1) + 1 if _is_gap(edit) else self.index(source, edit.start)
        end = self.index(source, edit.end) if _is_gap(edit) else self.index(source, edit.end - 1) + 1
        return start, end

    def is_as_read(self, source: SourceText, edit: Edit) -> bool:
        """Tell whether the file has the value's own characters here: no fold, escape or doubled quote."""
        start, end = self.span(source, edit)
        return self.text[start:end] == source.text[edit.start : edit.end]


def _is_gap(edit: Edit) -> bool:
    return edit.what == "spacing"


def _sure(raw: _RawText, source: SourceText, wanted: Callable[[str, int], bool]) -> list[Edit]:
    """Keep the edits that touch what they are meant to touch, if together they mend the schema."""
    schema, edits = find_edits(source)
    edits = [e for e in edits if wanted(e.code, source.place(e.start)[0]) and raw.is_as_read(source, e)]
    if schema is None or not edits:
        return []
    after, _ = parse_schema_source(SourceText.at(apply(source.text, edits), Mark("", 1, 1)))
    return edits if after is not None and same_meaning(schema, after) else []


def _report(source: SourceText, edits: list[Edit]) -> Iterator[Fix]:
    operator = source.text.partition("(")[0].strip()
    # All spaces of a schema are one thing to the reader.
    for what in dict.fromkeys((edit.code, edit.what) for edit in edits):
        first = next(edit for edit in edits if (edit.code, edit.what) == what)
        yield Fix(*what[:1], operator, what[1], source.mark(first.start, max(first.end, first.start + 1)))


def _rewritten(text: str, changes: list[tuple[int, int, str]]) -> str:
    parts, last = [], 0
    for start, end, new in sorted(changes, key=lambda change: change[:2]):
        parts += [text[last:start], new]
        last = end
    return "".join([*parts, text[last:]])


def _schema_nodes(root: yaml.Node) -> Iterator[yaml.ScalarNode]:
    """Yield the scalars that hold a schema, in the sections the reader reads."""
    for key, section in root.value if isinstance(root, yaml.MappingNode) else ():
        if not isinstance(key, yaml.ScalarNode) or not isinstance(section, yaml.SequenceNode):
            continue
        if key.value not in SECTIONS:
            continue
        for entry in section.value:
            if isinstance(entry, yaml.ScalarNode) and "(" in entry.value:
                yield entry
            for name, value in entry.value if isinstance(entry, yaml.MappingNode) else ():
                if name.value == "func" and isinstance(value, yaml.ScalarNode):
                    yield value


def _verify(before: Document, root: yaml.Node, values: dict[int, str], text: str) -> None:
    """Compare the files as YAML means them: only the mended schemas may differ."""
    after = Document(before.path, plain_lines(text))
    again = after.compose()
    if again is None or after.diagnostics or not _equal(root, again, values, set()):
        raise OpkitError(
            f"{before.path} is not fixed: the new text would say something else",
            "this is a mistake in opkit; please report it with the file",
        )


def _equal(old: yaml.Node, new: yaml.Node, values: dict[int, str], seen: set[int]) -> bool:
    if id(old) in seen:
        return True
    seen.add(id(old))
    if old.tag != new.tag or type(old) is not type(new):
        return False
    if isinstance(old, yaml.ScalarNode):
        return bool(new.value == values.get(old.start_mark.index, old.value))
    pairs = [(old.value, new.value)]
    if isinstance(old, yaml.MappingNode):
        pairs = [tuple([part for item in node.value for part in item] for node in (old, new))]  # type: ignore[list-item]
    olds, news = pairs[0]
    return len(olds) == len(news) and all(_equal(a, b, values, seen) for a, b in zip(olds, news))
