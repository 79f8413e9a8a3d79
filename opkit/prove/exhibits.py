"""Evidence that is meant to be read: FX graphs, the nodes of a GE graph, the source of what was registered.

It decides nothing. Its size is bounded, because every operator and case of a report carries it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from opkit.cann.ge_graph import GeGraph, GeNode

# What a graph or a function may take of the report; longer ones are cut, and say so.
_LINES = 200
_COLUMNS = 400
_NODES = 150
_VALUE = 200
# `;  x = y = None` after the last use of a name.
_FORGETS = re.compile(r";  (\w+ = )+None$")


def fx_text(module: Any) -> str:
    """Print an FX graph as code, with shapes and dtypes, without where it came from and what it forgets."""
    lines = [_FORGETS.sub("", line) for line in module.print_readable(print_output=False).splitlines()]
    return _cut([line for line in lines if line.strip() and not line.lstrip().startswith("#")])


def source_of(function: Callable[..., Any] | None) -> dict[str, Any] | None:
    """Give file, line and text of a Python function; None for what has no source, such as C++.

    The line is 0 in what opkit generated in memory: there it depends on which operators are proved together.
    """
    if function is None:
        return None
    try:
        function = inspect.unwrap(function)
        lines, line = inspect.getsourcelines(function)
        file = inspect.getsourcefile(function) or ""
    except (TypeError, OSError):
        return None
    name = Path(file).name
    line = 0 if name.startswith("<") else line
    return {"file": name, "line": line, "text": _cut([text.rstrip("\n") for text in lines])}


def ge_nodes(graph: GeGraph) -> list[dict[str, Any]]:
    """List the nodes of a GE graph as JSON values: inputs with their sources, attributes, outputs."""
    return [_node(node) for node in graph.nodes[:_NODES]]


def _node(node: GeNode) -> dict[str, Any]:
    return {
        "name": node.name,
        "type": node.type,
        "inputs": [
            {
                "name": item.name,
                "from": None if item.source is None else [item.source.node, item.source.index],
            }
            for item in node.inputs
        ],
        "after": list(node.controls),
        "attributes": {name: repr(value)[:_VALUE] for name, value in sorted(node.ir_attrs.items())},
        "outputs": [
            {"name": out.name, "dtype": out.dtype.name.removeprefix("DT_").lower(), "shape": list(out.shape)}
            for out in node.outputs
        ],
    }


def _cut(lines: list[str]) -> str:
    kept = [line if len(line) <= _COLUMNS else f"{line[:_COLUMNS]} ..." for line in lines[:_LINES]]
    more = len(lines) - len(kept)
    return "\n".join([*kept, *([f"... {more} more lines"] if more else [])])
