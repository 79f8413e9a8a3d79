"""What YAML can write and no declaration needs: aliases without bound, and tags of other programs."""

from __future__ import annotations

import re
from collections.abc import Iterator

import yaml

# Nodes of a file with every alias written out; a file of thousands of operators has a fifth of that.
LIMIT = 500_000
# An anchor or a tag stands at the beginning of a value; `(a!)`, `(!x` and `a != b` do not. What stands before
# it is looked at last, so that the search runs from one `&` or `!` to the next.
_SUSPICIOUS = re.compile(r"&(?<![^\s\[{,:]&)[\w-]|!(?<![^\s\[{,:]!)(?!= )")
_TAGS = {
    f"tag:yaml.org,2002:{name}"
    for name in ("null", "bool", "int", "float", "str", "seq", "map", "merge", "value", "timestamp")
}


def may_have_any(text: str) -> bool:
    """Tell cheaply whether a file can have anchors or tags at all."""
    return _SUSPICIOUS.search(text) is not None


def children(node: yaml.Node) -> Iterator[yaml.Node]:
    """Yield the nodes that a list or a mapping holds."""
    if isinstance(node, yaml.SequenceNode):
        yield from node.value
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield key
            yield value


def foreign(root: yaml.Node) -> list[yaml.Node]:
    """List the nodes whose tag is none of plain YAML, each once, in the order of the text."""
    found, seen, pending = [], {id(root)}, [root]
    while pending:
        node = pending.pop()
        if node.tag not in _TAGS:
            found.append(node)
        for child in children(node):
            if id(child) not in seen:
                seen.add(id(child))
                pending.append(child)
    return sorted(found, key=lambda node: node.start_mark.index)


def too_large(root: yaml.Node) -> yaml.Node | None:
    """Find the innermost list or mapping that is too large with its aliases written out, or holds itself."""
    sizes: dict[int, int] = {}
    open_: set[int] = set()

    def measure(node: yaml.Node) -> yaml.Node | None:
        open_.add(id(node))
        total = 1
        for child in children(node):
            if id(child) in open_:
                return node
            if id(child) not in sizes and (wrong := measure(child)) is not None:
                return wrong
            total += sizes[id(child)]
        open_.discard(id(node))
        sizes[id(node)] = total
        return node if total > LIMIT else None

    return measure(root)
