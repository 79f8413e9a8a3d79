"""Where the nodes of a layered graph stand and how its edges run, in pixels.

Sugiyama's method in its plain form: layers by longest path, edges over several layers broken at each, order
by the mean position of the neighbours, then positions that keep the order and are as near to the neighbours
as they can be. Graphs of one operator are small; nothing here is meant for thousands of nodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

GAP_X, GAP_Y = 28.0, 54.0
_SWEEPS = 8
_BEND_WIDTH = 8.0


@dataclass(frozen=True)
class Edge:
    """From the bottom of one node to the top of another, at a part of their widths between 0 and 1."""

    source: str
    target: str
    leaves: float = 0.5
    enters: float = 0.5


@dataclass
class Placed:
    """A laid-out graph: the top left corner of each node, and the points each edge runs through."""

    nodes: dict[str, tuple[float, float]] = field(default_factory=dict)
    edges: list[list[tuple[float, float]]] = field(default_factory=list)
    width: float = 0.0
    height: float = 0.0


# (source, target, part of the source's width, part of the target's width), one layer apart.
_Link = tuple[str, str, float, float]


def lay_out(sizes: Mapping[str, tuple[float, float]], edges: Sequence[Edge]) -> Placed:
    """Place the nodes, given as name -> (width, height), and route the edges.

    Raises ValueError for a cycle, which has no layers.
    """
    if not sizes:
        return Placed()
    rank = _ranks(sizes, edges)
    chains = [_chain(index, edge, rank) for index, edge in enumerate(edges)]
    bends = {name: level for chain in chains for name, level in chain[1:-1]}
    widths = {**{name: width for name, (width, _) in sizes.items()}, **dict.fromkeys(bends, _BEND_WIDTH)}
    layers: list[list[str]] = [[] for _ in range(max(rank.values()) + 1)]
    for name, level in {**rank, **bends}.items():
        layers[level].append(name)
    links = [link for edge, chain in zip(edges, chains) for link in _links(edge, chain)]
    _order(layers, links)
    middle = _middles(layers, links, widths)
    return _placed(sizes, layers, chains, edges, middle, widths)


def _ranks(sizes: Mapping[str, object], edges: Sequence[Edge]) -> dict[str, int]:
    """Give each node the length of the longest way to it; what nothing feeds stands just above its reader."""
    rank = dict.fromkeys(sizes, 0)
    for round_ in range(len(sizes) + 1):
        moved = False
        for edge in edges:
            if rank[edge.target] <= rank[edge.source]:
                rank[edge.target], moved = rank[edge.source] + 1, True
        if not moved:
            break
        if round_ == len(sizes):
            raise ValueError("the graph has a cycle")
    fed = {edge.target for edge in edges}
    for name in sizes:
        readers = [rank[edge.target] for edge in edges if edge.source == name]
        if name not in fed and readers:
            rank[name] = min(readers) - 1
    return rank


def _chain(index: int, edge: Edge, rank: Mapping[str, int]) -> list[tuple[str, int]]:
    """List what an edge runs through, with the layers: its nodes, and a bend in every layer between."""
    between = range(rank[edge.source] + 1, rank[edge.target])
    bends = [(f"\0{index}.{level}", level) for level in between]
    return [(edge.source, rank[edge.source]), *bends, (edge.target, rank[edge.target])]


def _links(edge: Edge, chain: Sequence[tuple[str, int]]) -> list[_Link]:
    """Split an edge into links from layer to layer; in a bend it runs through the middle."""
    names = [name for name, _ in chain]
    outs = [edge.leaves, *[0.5] * (len(names) - 2)]
    ins = [*[0.5] * (len(names) - 2), edge.enters]
    return list(zip(names, names[1:], outs, ins))


def _neighbours(links: Sequence[_Link], down: bool) -> dict[str, list[tuple[str, float]]]:
    """List what each node hangs on in the layer above (or below), and at which part of its width."""
    found: dict[str, list[tuple[str, float]]] = {}
    for source, target, out, into in links:
        if down:
            found.setdefault(target, []).append((source, out))
        else:
            found.setdefault(source, []).append((target, into))
    return found


def _order(layers: list[list[str]], links: Sequence[_Link]) -> None:
    """Order each layer by the mean position of the neighbours, down and up; keep the fewest crossings."""
    best, fewest = [list(layer) for layer in layers], _crossings(layers, links)
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        near = _neighbours(links, down)
        place = {name: float(i) for layer in layers for i, name in enumerate(layer)}
        for layer in layers if down else reversed(layers):
            means = {n: _mean([place[m] + part for m, part in near.get(n, [(n, 0.0)])]) for n in layer}
            layer.sort(key=means.__getitem__)
            place.update((name, float(i)) for i, name in enumerate(layer))
        crossings = _crossings(layers, links)
        if crossings < fewest:
            best, fewest = [list(layer) for layer in layers], crossings
    layers[:] = best


def _crossings(layers: Sequence[Sequence[str]], links: Sequence[_Link]) -> int:
    place = {name: (level, i) for level, layer in enumerate(layers) for i, name in enumerate(layer)}
    spans = [(place[a][0], place[a][1] + out, place[b][1] + into) for a, b, out, into in links]
    return sum(
        1
        for i, (level, a, b) in enumerate(spans)
        for other, c, d in spans[i + 1 :]
        if level == other and (a - c) * (b - d) < 0
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _middles(
    layers: Sequence[Sequence[str]], links: Sequence[_Link], widths: Mapping[str, float]
) -> dict[str, float]:
    """Give the middle of each node: near its neighbours, in the order of its layer."""
    middle: dict[str, float] = {}
    for layer in layers:
        middle.update(zip(layer, _spread([0.0] * len(layer), [widths[name] for name in layer])))
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        near = _neighbours(links, down)
        for layer in layers if down else reversed(layers):
            wanted = [
                _mean([middle[m] + (part - 0.5) * widths[m] for m, part in near[n]])
                if n in near
                else middle[n]
                for n in layer
            ]
            middle.update(zip(layer, _spread(wanted, [widths[name] for name in layer])))
    return middle


def _spread(wanted: Sequence[float], widths: Sequence[float]) -> list[float]:
    """Move middles as little as can be (least squares) so that boxes keep their order and a gap.

    With the gaps taken off, the middles must not fall: isotonic regression by pooling neighbours.
    """
    offsets = [0.0]
    for left, right in zip(widths, widths[1:]):
        offsets.append(offsets[-1] + (left + right) / 2 + GAP_X)
    pools: list[tuple[float, int]] = []
    for value, offset in zip(wanted, offsets):
        pools.append((value - offset, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (a, m), (b, n) = pools[-2:]
            pools[-2:] = [((a * m + b * n) / (m + n), m + n)]
    levels = [value for value, count in pools for _ in range(count)]
    return [level + offset for level, offset in zip(levels, offsets)]


def _placed(
    sizes: Mapping[str, tuple[float, float]],
    layers: Sequence[Sequence[str]],
    chains: Sequence[Sequence[tuple[str, int]]],
    edges: Sequence[Edge],
    middle: Mapping[str, float],
    widths: Mapping[str, float],
) -> Placed:
    left = min(middle[name] - widths[name] / 2 for name in middle)
    heights = [max([sizes[n][1] for n in layer if n in sizes], default=0.0) for layer in layers]
    tops = [sum(heights[:i]) + GAP_Y * i for i in range(len(layers))]
    placed = Placed(height=tops[-1] + heights[-1])
    placed.width = max(middle[name] + widths[name] / 2 for name in middle) - left
    for level, layer in enumerate(layers):
        for name in layer:
            if name in sizes:
                width, height = sizes[name]
                top = tops[level] + (heights[level] - height) / 2
                placed.nodes[name] = (middle[name] - width / 2 - left, top)
    for edge, chain in zip(edges, chains):
        (x1, y1), (x2, y2) = placed.nodes[edge.source], placed.nodes[edge.target]
        start = (x1 + sizes[edge.source][0] * edge.leaves, y1 + sizes[edge.source][1])
        end = (x2 + sizes[edge.target][0] * edge.enters, y2)
        bends = [
            (middle[name] - left, y)
            for name, level in chain[1:-1]
            for y in (tops[level], tops[level] + heights[level])
        ]
        placed.edges.append([start, *bends, end])
    return placed
