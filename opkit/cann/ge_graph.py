"""GE graphs as torchair hands them over: parsed into plain data, so that their wiring can be inspected.

The serialized form is ge_ir.proto; it is read with the protobuf classes that the torch_npu wheel carries.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from opkit.cann.ge_dtypes import GeDtype, from_proto
from opkit.errors import OpkitError

CONTROL = -1  # the index of a control edge
# Node types whose output holds what their input holds: the way from a written buffer back to its graph input.
_PASSES_ON = frozenset({"TensorMove", "Identity", "Reshape", "Bitcast"})


@dataclass(frozen=True)
class TensorDesc:
    """What a graph says about one input or output; an unknown dim is -1, an unknown rank is (-2,)."""

    name: str
    dtype: GeDtype
    shape: tuple[int, ...]

    @property
    def is_static(self) -> bool:
        """Whether every dim is known."""
        return all(dim >= 0 for dim in self.shape)


@dataclass(frozen=True)
class Edge:
    """Where a value comes from: output `index` of `node`, or CONTROL for an edge that carries only order."""

    node: str
    index: int


@dataclass(frozen=True)
class GeInput:
    """One IR input of a node; those of a dynamic input x are x0, x1, ...; an unfed one has no source."""

    name: str
    source: Edge | None
    desc: TensorDesc


@dataclass(frozen=True)
class ConstValue:
    """The tensor in an attribute, as bytes."""

    dtype: GeDtype
    shape: tuple[int, ...]
    data: bytes = field(repr=False)


@dataclass(frozen=True)
class GeNode:
    """One node. Attributes with a leading underscore are torchair's notes and no part of the Ascend IR."""

    name: str
    type: str
    inputs: tuple[GeInput, ...]
    controls: tuple[str, ...]  # names of the nodes that must run before
    attrs: Mapping[str, Any]
    outputs: tuple[TensorDesc, ...]

    @property
    def in_place(self) -> dict[int, int]:
        """Output index -> input index for outputs named like an input: those are the same memory in GE."""
        inputs = {item.name: index for index, item in enumerate(self.inputs)}
        return {index: inputs[out.name] for index, out in enumerate(self.outputs) if out.name in inputs}

    @property
    def ir_attrs(self) -> dict[str, Any]:
        """The attributes of the Ascend IR, without torchair's notes."""
        return {name: value for name, value in self.attrs.items() if not name.startswith("_")}


@dataclass(frozen=True)
class GeGraph:
    """A graph as it reached GE."""

    id: int
    name: str
    nodes: tuple[GeNode, ...]
    attrs: Mapping[str, Any]

    def node(self, name: str) -> GeNode:
        """The node of this name. Raises KeyError."""
        for node in self.nodes:
            if node.name == name:
                return node
        raise KeyError(name)

    def of_type(self, ir_type: str) -> list[GeNode]:
        """Every node of an Ascend IR type, in graph order."""
        return [node for node in self.nodes if node.type == ir_type]

    @property
    def data(self) -> list[GeNode]:
        """The graph inputs, ordered by their index."""
        found = [node for node in self.nodes if node.type in ("Data", "RefData")]
        return sorted(found, key=lambda node: int(node.attrs.get("index", 0)))

    @property
    def net_output(self) -> GeNode:
        """The node that collects the results. Raises OpkitError if the graph has none."""
        found = self.of_type("NetOutput")
        if len(found) != 1:
            raise OpkitError(f"GE graph {self.name} has {len(found)} NetOutput nodes, it needs one")
        return found[0]

    @property
    def is_static(self) -> bool:
        """Whether every input and every result has a known shape."""
        descs = [node.outputs[0] for node in self.data] + [item.desc for item in self.net_output.inputs]
        return all(desc.is_static for desc in descs)

    @property
    def output_refs(self) -> dict[int, int]:
        """NetOutput index -> graph input index, for results that are an updated graph input.

        A result counts when it leaves the graph through an in-place output; copies on the way to the input
        are followed, because torchair puts a TensorMove before each in-place node.
        """
        refs = {}
        for index, item in enumerate(self.net_output.inputs):
            place = self._updated_input(item.source)
            if place is not None:
                refs[index] = place
        return refs

    def _updated_input(self, edge: Edge | None) -> int | None:
        written = False
        while edge is not None and edge.index != CONTROL:
            node = self.node(edge.node)
            if node.type in ("Data", "RefData"):
                return int(node.attrs.get("index", 0)) if written else None
            if edge.index in node.in_place:
                written = True
                edge = node.inputs[node.in_place[edge.index]].source
            elif node.type in _PASSES_ON and node.inputs:
                edge = node.inputs[0].source
            else:
                return None
        return None

    def live(self) -> list[GeNode]:
        """The nodes that NetOutput depends on, by data or control, each after what it depends on.

        Raises OpkitError for an edge to a node that is not there and for a cycle.
        """
        return list(self._walk())

    def dangling(self) -> list[GeNode]:
        """The nodes that nothing depends on: GE prunes them, so their work is lost."""
        live = {node.name for node in self.live()}
        return [node for node in self.nodes if node.name not in live]

    def _walk(self) -> Iterator[GeNode]:
        by_name = {node.name: node for node in self.nodes}
        needed, stack = {self.net_output.name}, [self.net_output]
        while stack:
            node = stack.pop()
            for before in _before(node):
                if before not in by_name:
                    raise OpkitError(
                        f"GE graph {self.name}: {node.name} depends on {before}, which is not there"
                    )
                if before not in needed:
                    needed.add(before)
                    stack.append(by_name[before])
        # Graph order where it is allowed: torchair writes nodes in the order in which they were created.
        waiting = [node for node in self.nodes if node.name in needed]
        done: set[str] = set()
        while waiting:
            late = []
            for node in waiting:
                if done.issuperset(_before(node)):
                    done.add(node.name)
                    yield node
                else:
                    late.append(node)
            if len(late) == len(waiting):
                raise OpkitError(
                    f"GE graph {self.name} has a cycle through {', '.join(n.name for n in late)}"
                )
            waiting = late


def _before(node: GeNode) -> list[str]:
    return [item.source.node for item in node.inputs if item.source is not None] + list(node.controls)


def parse_graph(graph_id: int, data: bytes) -> GeGraph:
    """Parses what Graph::LoadFromSerializedModelArray got: a GraphDef, or a ModelDef that holds one.

    Raises OpkitError if it is neither.
    """
    classes = _proto()
    graph = None
    for kind in (classes.GraphDef, classes.ModelDef):
        try:
            message = kind.FromString(data)
        except Exception:  # protobuf's DecodeError has another home in each of its versions
            continue
        found = message if kind is classes.GraphDef else (message.graph[0] if message.graph else None)
        if found is not None and len(found.op):
            graph = found
            break
    if graph is None:
        raise OpkitError("the serialized GE graph is not a GraphDef nor a ModelDef with nodes")
    attrs = {name: _attr(value) for name, value in graph.attr.items()}
    return GeGraph(graph_id, graph.name, tuple(_node(op) for op in graph.op), attrs)


def _node(op: Any) -> GeNode:
    feeds = [text for text in op.input if not text.endswith(":-1")]
    inputs = []
    for text, desc in zip(feeds, op.input_desc):
        name, _, index = text.rpartition(":")
        inputs.append(GeInput(desc.name, Edge(name, int(index)) if name else None, _desc(desc)))
    # A graph input describes what it is fed with, but no edge of the graph feeds it.
    if len(feeds) != len(op.input_desc) and op.type not in ("Data", "RefData"):
        raise OpkitError(
            f"GE node {op.name} has {len(feeds)} inputs and {len(op.input_desc)} input descriptions"
        )
    return GeNode(
        name=op.name,
        type=op.type,
        inputs=tuple(inputs),
        controls=tuple(text[: -len(":-1")] for text in op.input if text.endswith(":-1")),
        attrs={name: _attr(value) for name, value in op.attr.items()},
        outputs=tuple(_desc(desc) for desc in op.output_desc),
    )


def _desc(desc: Any) -> TensorDesc:
    return TensorDesc(desc.name, from_proto(desc.dtype), tuple(desc.shape.dim))


_LISTS = ("s", "i", "f", "b", "dt", "bt")


def _attr(value: Any) -> Any:
    """The Python value of an AttrDef; a kind that is not used by torchair stays a protobuf message."""
    kind = value.WhichOneof("value")
    if kind is None:
        return None
    content = getattr(value, kind)
    if kind in ("s", "bt"):
        return _text(content)
    if kind == "t":
        return ConstValue(from_proto(content.desc.dtype), tuple(content.desc.shape.dim), bytes(content.data))
    if kind == "list":
        filled = next((name for name in _LISTS if len(getattr(content, name))), None)
        items = list(getattr(content, filled)) if filled else []
        return [_text(item) for item in items] if filled in ("s", "bt") else items
    if kind == "list_list_int":
        return [list(row.list_i) for row in content.list_list_i]
    if kind == "list_list_float":
        return [list(row.list_f) for row in content.list_list_f]
    return content


def _text(data: bytes) -> Any:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


@cache
def _proto() -> ModuleType:
    """The generated protobuf module of the installed torch_npu: torchair's copy if that is loaded."""
    loaded = sys.modules.get("torchair._ge_concrete_graph.ge_ir_pb2")
    if loaded is not None:
        return loaded
    spec = importlib.util.find_spec("torch_npu")
    if spec is None or not spec.submodule_search_locations:
        raise OpkitError("torch_npu is not installed, so GE graphs cannot be read", "pip install torch_npu")
    old = int(importlib.metadata.version("protobuf").split(".")[0]) < 4
    name = f"ge_ir_by_protoc_3_{13 if old else 19}_pb2"
    home = Path(next(iter(spec.submodule_search_locations)), "dynamo", "torchair", "_ge_concrete_graph")
    source = importlib.util.spec_from_file_location(f"opkit_{name}", home / f"{name}.py")
    if source is None or source.loader is None or not (home / f"{name}.py").is_file():
        raise OpkitError(f"this torch_npu has no {name}.py in {home}")
    module = importlib.util.module_from_spec(source)
    source.loader.exec_module(module)
    return module
