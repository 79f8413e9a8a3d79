"""Expressions YAML cuts at a comma: `{size: f(x, y), dtype: x}` has the keys `size`, `y)` and `dtype`."""

from __future__ import annotations

from typing import Callable

import yaml

_OPEN, _CLOSE = "([{", ")]}"

Pair = tuple[yaml.Node, yaml.Node]


def join_cut(pairs: list[Pair], text: str, found: Callable[[yaml.Node, yaml.Node], None]) -> list[Pair]:
    """Give the items of a mapping in braces with such expressions as the one text that was meant.

    `found` is called with the key and the joined value of each. A bracket that nothing closes is joined, too,
    and left to whoever parses the expression.
    """
    joined: list[Pair] = []
    for key, value in pairs:
        before = joined[-1][1] if joined else None
        if before is None or not _is_open(before) or not _is_bare(key, value):
            joined.append((key, value))
            continue
        whole = text[before.start_mark.index : key.end_mark.index]
        node = yaml.ScalarNode(before.tag, " ".join(whole.split()), before.start_mark, key.end_mark)
        joined[-1] = joined[-1][0], node
        if not _is_open(node):
            found(joined[-1][0], node)
    return joined


def _is_open(node: yaml.Node) -> bool:
    """Tell whether a text without quotes opens more brackets than it closes."""
    if not isinstance(node, yaml.ScalarNode) or node.style:
        return False
    return sum((char in _OPEN) - (char in _CLOSE) for char in node.value) > 0


def _is_bare(key: yaml.Node, value: yaml.Node) -> bool:
    """Tell whether a key of a mapping in braces stands there without a value."""
    empty = isinstance(value, yaml.ScalarNode) and not value.style and value.value == ""
    return empty and isinstance(key, yaml.ScalarNode) and not key.style
