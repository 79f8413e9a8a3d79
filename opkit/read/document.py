"""A YAML file as nodes with positions, and the diagnostics found while reading it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from opkit.model.diagnostic import Diagnostic, Mark, Severity
from opkit.read import anchors
from opkit.read.cut import join_cut
from opkit.read.source import Place, SourceText
from opkit.read.yaml_errors import locate

SYNTAX = "OPK002"
DUPLICATE_KEY = "OPK003"
STRUCTURE = "OPK004"
EXPRESSION = "OPK020"

# libyaml is several times faster; wheels have it on every common platform.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAG = "tag:yaml.org,2002:"
_TEXT = _TAG + "str"
_ESCAPE_LENGTH = {"x": 2, "u": 4, "U": 8}
_constructor = yaml.constructor.SafeConstructor()


@dataclass
class Document:
    """One file being read."""

    path: str
    text: str
    diagnostics: list[Diagnostic] = field(default_factory=list)
    # The operator being read, for its diagnostics.
    operator: str = ""
    # The file has `all_version`, as only those that op-plugin's first stage reads do.
    lists_versions: bool = False
    # First and last line of each entry, for the comments that belong to it.
    entries: list[tuple[int, int]] = field(default_factory=list)

    def compose(self) -> yaml.Node | None:
        """Parse the YAML; None for an empty file and for one with a syntax error, which is reported."""
        try:
            root: yaml.Node | None = yaml.compose(self.text, Loader=_LOADER)
        except yaml.YAMLError as error:
            self._report_yaml_error(error)
            return None
        except RecursionError:
            self._too_deep()
            return None
        if root is not None and anchors.may_have_any(self.text):
            return self._checked(root)
        return root

    def _checked(self, root: yaml.Node) -> yaml.Node | None:
        """Report tags, and refuse aliases that would take for ever to follow."""
        try:
            large = anchors.too_large(root)
        except RecursionError:
            self._too_deep()
            return None
        if large is not None:
            message = f"with its aliases written out this has more than {anchors.LIMIT} parts, or no end"
            self.report(STRUCTURE, message, self.mark(large), "write out what the operators need")
            return None
        for node in anchors.foreign(root):
            help = "write a plain value; opkit makes no objects of other programs"
            self.report(STRUCTURE, f"a value has the tag `{node.tag}`", self.mark(node), help)
        return root

    def _too_deep(self) -> None:
        self.report(SYNTAX, "the YAML is nested too deeply", Mark(self.path, 1, 1))

    def _report_yaml_error(self, error: yaml.YAMLError) -> None:
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
        context = getattr(error, "context", None)
        place, help = locate(self.text, error)
        line, column = place or (0, 0)
        message = f"not valid YAML: {context + ': ' if context else ''}{problem}"
        self.report(SYNTAX, message, Mark(self.path, line + 1, column + 1), help)

    def report(
        self,
        code: str,
        message: str,
        mark: Mark,
        help: str = "",
        severity: Severity = Severity.ERROR,
        related: tuple[tuple[str, Mark], ...] = (),
    ) -> None:
        """Add a finding about the operator being read."""
        self.diagnostics.append(Diagnostic(code, severity, message, mark, help, self.operator, related))

    def warn(self, code: str, message: str, mark: Mark, help: str = "") -> None:
        """Add a warning about the operator being read."""
        self.report(code, message, mark, help, Severity.WARNING)

    def mark(self, node: yaml.Node) -> Mark:
        """Mark a node, as far as it stands on its first line."""
        start, end = node.start_mark, node.end_mark
        if start.line == end.line:
            length = end.column - start.column
        else:
            stop = self.text.find("\n", start.index)
            length = len(self.text[start.index : stop if stop >= 0 else None].rstrip())
        return Mark(self.path, start.line + 1, start.column + 1, max(length, 1))

    def source(self, node: yaml.ScalarNode) -> SourceText:
        """Give a scalar's text with the place of each character, through folding, quoting and escapes."""
        start = node.start_mark
        place = (start.line + 1, start.column + 1)
        if not node.style and start.line == node.end_mark.line:
            return SourceText(node.value, self.path, place)
        raw = self.text[start.index : node.end_mark.index]
        if node.style in ("'", '"') and raw[1:-1] == node.value:
            return SourceText(node.value, self.path, (place[0], place[1] + 1))
        return SourceText(
            node.value, self.path, place, lambda: _places(raw, place, node.style or "", node.value)
        )

    def is_cut_by_comment(self, text: str, mark: Mark) -> bool:
        """Tell whether a ` #` ends a plain text on the line where it begins."""
        line = self.text.split("\n")[mark.line - 1]
        return line[mark.column - 1 + len(text) :].lstrip().startswith("#") and line[
            mark.column - 1 :
        ].startswith(text)

    def raw_source(self, node: yaml.Node) -> SourceText:
        """Give a node's text as it stands in the file."""
        start = node.start_mark
        raw = self.text[start.index : node.end_mark.index]
        return SourceText(raw, self.path, (start.line + 1, start.column + 1))

    def items(self, node: yaml.Node, what: str) -> dict[str, tuple[yaml.Node, yaml.Node]] | None:
        """Give a mapping's items as name -> (key, value); None, reported, if it is not a mapping."""
        if not isinstance(node, yaml.MappingNode):
            self.report(STRUCTURE, f"{what} is a mapping, found {describe(node)}", self.mark(node))
            return None
        items: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        merged: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        for key, value in self._pairs(node):
            if key.tag == _TAG + "merge":
                for source in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                    for name, item in (self.items(source, "a merged value") or {}).items():
                        merged.setdefault(name, item)
            elif not isinstance(key, yaml.ScalarNode):
                self.report(STRUCTURE, f"a key of {what} is a name, found {describe(key)}", self.mark(key))
            elif key.value in items:
                self.report(
                    DUPLICATE_KEY,
                    f"`{key.value}` is given twice; YAML readers take the last one silently",
                    self.mark(key),
                    "keep one of them",
                    related=(("the first one", self.mark(items[key.value][0])),),
                )
            else:
                items[key.value] = (key, value)
        for name, item in merged.items():
            items.setdefault(name, item)
        return items

    def _pairs(self, node: yaml.MappingNode) -> list[tuple[yaml.Node, yaml.Node]]:
        """Give a mapping's items; an expression that YAML has cut at a comma is reported and made whole."""

        def found(key: yaml.Node, value: yaml.Node) -> None:
            text = f"`{key.value}` is cut at the comma, where YAML ends a value without quotes"
            written = value.value.replace('"', '\\"')
            self.report(EXPRESSION, text, self.mark(value), f'write {key.value}: "{written}"')

        pairs: list[tuple[yaml.Node, yaml.Node]] = node.value
        return join_cut(pairs, self.text, found) if node.flow_style else pairs

    def string(self, node: yaml.Node, what: str) -> str | None:
        """Give a scalar's text; None, reported, if it is not a non-empty scalar."""
        if isinstance(node, yaml.ScalarNode) and kind(node) != "null" and node.value.strip():
            return str(node.value)
        self.report(STRUCTURE, f"{what} is a text, found {describe(node)}", self.mark(node))
        return None


def kind(node: yaml.Node) -> str:
    """Give the YAML type: "str", "null", "bool", "int", "float", "seq", "map" or another tag."""
    return str(node.tag).replace(_TAG, "")


def is_null(node: yaml.Node) -> bool:
    """Tell whether the value is null or left out."""
    return bool(node.tag == _TAG + "null")


def describe(node: yaml.Node) -> str:
    """Name a node in a message."""
    if isinstance(node, yaml.SequenceNode):
        return "a list"
    if isinstance(node, yaml.MappingNode):
        return "a mapping"
    return "nothing" if is_null(node) or not node.value.strip() else f"`{node.value.strip()[:40]}`"


def plain(node: yaml.Node, depth: int = 0) -> object:
    """Give a node's value as YAML means it; anchors that contain themselves end in None."""
    if node.tag == _TEXT and isinstance(node, yaml.ScalarNode):
        return node.value
    if depth > 40:
        return None
    if isinstance(node, yaml.SequenceNode):
        return [plain(item, depth + 1) for item in node.value]
    if isinstance(node, yaml.MappingNode):
        return {str(plain(k, depth + 1)): plain(v, depth + 1) for k, v in node.value}
    type_ = kind(node)
    if type_ == "null" or not isinstance(node, yaml.ScalarNode):
        return None
    if type_ == "bool":
        return bool(_constructor.construct_yaml_bool(node))
    try:
        if type_ == "int":
            return int(_constructor.construct_yaml_int(node))
        if type_ == "float":
            return float(_constructor.construct_yaml_float(node))
    except ValueError:
        pass
    return node.value


def _places(raw: str, start: Place, style: str, value: str) -> list[Place]:
    """Find the place in the file of each character of a scalar's value.

    Folding and indentation only ever add, drop or change white space, so the other characters of the value
    are those of the file, in order.
    """
    content = _content(raw, start, style)
    places: list[Place] = []
    last = (start[0], start[1] - 1)
    for char in value:
        if not char.isspace():
            last = next(content, last)
            places.append(last)
        else:
            places.append((last[0], last[1] + 1))
    return places


def _content(raw: str, start: Place, style: str) -> Iterator[Place]:
    """Yield the place of each character of the scalar's content that is not white space."""
    line, column = start
    index = 0
    if style in ("|", ">"):
        index = raw.find("\n") + 1
        line, column = line + 1, 1
    elif style in ("'", '"'):
        index, column = 1, column + 1
    end = len(raw) - (style in ("'", '"'))
    while index < end:
        char, step = raw[index], 1
        if char == "\n":
            line, column, index = line + 1, 1, index + 1
            continue
        if style == "'" and raw.startswith("''", index):
            step = 2
        elif style == '"' and char == "\\":
            escape = raw[index + 1 : index + 2]
            if escape == "\n":
                line, column, index = line + 1, 1, index + 2
                continue
            step = 2 + _ESCAPE_LENGTH.get(escape, 0)
            # Escapes that make white space; what they make is skipped in the value, too.
            char = " " if escape in "abtnvfe0 N_LP\t" and escape not in "abe0" else "x"
        if not char.isspace():
            yield line, column
        column += step
        index += step
