"""An Ascend IR graph as a picture: boxes, lines and labels for an SVG."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opkit.report.html.layout import Edge, lay_out

# More than this nobody reads as a picture; the graph is listed as text then.
MOST_NODES = 80
# What torchair adds around the operators.
_PLUMBING = {"Data", "RefData", "Const", "TensorMove", "Identity", "Assign", "NetOutput"}
_CHARACTER, _LINE, _PADDING = 6.7, 16.0, 11.0
_LONGEST = 44
_MARGIN = 10.0


@dataclass(frozen=True)
class Box:
    """One node: its place and the lines in it, the first of which is the type."""

    x: float
    y: float
    width: float
    height: float
    lines: tuple[str, ...]
    # "operator", "data" or "plumbing".
    kind: str

    @property
    def rows(self) -> list[tuple[float, str]]:
        """Give each line with its baseline."""
        return [(self.y + _PADDING + 9 + index * _LINE, text) for index, text in enumerate(self.lines)]


@dataclass(frozen=True)
class Line:
    """One edge: an SVG path, where it ends, and the name of the input there."""

    path: str
    label: str
    x: float
    y: float
    # Order only, no data.
    control: bool


@dataclass(frozen=True)
class Picture:
    """A graph, laid out."""

    width: int
    height: int
    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]


def picture(nodes: Sequence[Mapping[str, Any]]) -> Picture | None:
    """Lay out the nodes of an Ascend IR graph; None when there are none, too many, or a cycle among them."""
    if not nodes or len(nodes) > MOST_NODES:
        return None
    texts = {node["name"]: _texts(node) for node in nodes}
    sizes = {name: _size(lines) for name, lines in texts.items()}
    for node in nodes:
        sizes[node["name"]] = _room_for_labels(node, sizes[node["name"]])
    found = [edge for node in nodes for edge in _edges(node, {n["name"]: n for n in nodes})]
    try:
        placed = lay_out(sizes, [edge for edge, _, _ in found])
    except ValueError:
        return None
    boxes = tuple(
        Box(x + _MARGIN, y + _MARGIN, *sizes[node["name"]], tuple(texts[node["name"]]), _kind(node))
        for node in nodes
        for x, y in [placed.nodes[node["name"]]]
    )
    lines = tuple(
        Line(_path(points), label, points[-1][0] + _MARGIN + 4, points[-1][1] + _MARGIN - 9, control)
        for points, (_, label, control) in zip(placed.edges, found)
    )
    return Picture(round(placed.width + 2 * _MARGIN), round(placed.height + 2 * _MARGIN), boxes, lines)


def _kind(node: Mapping[str, Any]) -> str:
    if node["type"] in ("Data", "RefData", "Const"):
        return "data"
    return "plumbing" if node["type"] in _PLUMBING else "operator"


def _texts(node: Mapping[str, Any]) -> list[str]:
    lines = [node["type"]]
    if node["name"] != node["type"]:
        lines.append(node["name"])
    if _kind(node) == "data":
        lines += [f"{out['dtype']}{out['shape']}" for out in node["outputs"]]
    elif _kind(node) == "operator":
        lines += [f"{name} = {value}" for name, value in node["attributes"].items()]
    return [text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…" for text in lines]


def _size(lines: Sequence[str]) -> tuple[float, float]:
    widest = max(map(_columns, lines))
    return max(64.0, widest * _CHARACTER + 2 * _PADDING), len(lines) * _LINE + 2 * _PADDING - 4


def _columns(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _room_for_labels(node: Mapping[str, Any], size: tuple[float, float]) -> tuple[float, float]:
    """Widen a node until the names of its inputs stand beside each other above it."""
    fed = [item["name"] for item in node["inputs"] if item["from"] is not None]
    longest = max(map(_columns, fed), default=0)
    needed = len(fed) * (longest * 6.2 + 12) if node["type"] != "NetOutput" else 0.0
    return max(size[0], needed), size[1]


def _edges(node: Mapping[str, Any], by_name: Mapping[str, Mapping[str, Any]]) -> list[tuple[Edge, str, bool]]:
    """List a node's incoming edges with the name of the input; the last tells those of order alone."""
    fed = [item for item in node["inputs"] if item["from"] is not None and item["from"][0] in by_name]
    found = []
    for position, item in enumerate(fed):
        source, index = item["from"]
        outputs = max(len(by_name[source]["outputs"]), index + 1, 1)
        leaves = (index + 0.5) / outputs if index >= 0 else 0.5
        edge = Edge(source, node["name"], leaves, (position + 0.5) / len(fed))
        label = item["name"] if node["type"] != "NetOutput" else _output_name(by_name[source], index)
        found.append((edge, label, False))
    return found + [(Edge(name, node["name"]), "", True) for name in node["after"] if name in by_name]


def _output_name(node: Mapping[str, Any], index: int) -> str:
    outputs = node["outputs"]
    return str(outputs[index]["name"]) if 0 <= index < len(outputs) else ""


def _path(points: Sequence[tuple[float, float]]) -> str:
    """Draw a smooth line down through the points: vertical at each of them."""
    shifted = [(x + _MARGIN, y + _MARGIN) for x, y in points]
    text = f"M{shifted[0][0]:.1f} {shifted[0][1]:.1f}"
    for (x1, y1), (x2, y2) in zip(shifted, shifted[1:]):
        half = (y1 + y2) / 2
        text += f"C{x1:.1f} {half:.1f} {x2:.1f} {half:.1f} {x2:.1f} {y2:.1f}"
    return text
