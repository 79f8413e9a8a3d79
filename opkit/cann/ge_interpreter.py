"""Runs a GE graph on CPU tensors, node by node.

Values are contiguous, as GE's are. Nodes without a kernel (Reshape and its like) share memory with their
input and in-place outputs are the memory of their input; every other output is memory of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from opkit.cann.ge_custom import NodeSpec, adapter_of, call_custom, missing_outputs
from opkit.cann.ge_graph import ConstValue, Edge, GeGraph, GeNode
from opkit.cann.ge_layout_nodes import ALIASES, STANDARD
from opkit.cann.ge_nodes import NodeCall
from opkit.cann.operators import describe
from opkit.errors import OpkitError

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Interpretation:
    """The values of NetOutput's inputs, and the nodes whose outputs nobody computed."""

    outputs: tuple[torch.Tensor, ...]
    uncomputed: tuple[str, ...]


def check_known(graph: GeGraph) -> None:
    """Raises OpkitError that names every node type of the graph that cannot be interpreted."""
    ends = {"Data", "RefData", "Const", "Constant", "NetOutput"}
    unknown = sorted(
        {
            node.type
            for node in graph.live()
            if node.type not in ends and node.type not in STANDARD and adapter_of(node.type) is None
        }
    )
    if unknown:
        raise OpkitError(
            f"GE graph {graph.name}: cannot interpret the node type {', '.join(unknown)}",
            "register a custom node with opkit.cann.ge_custom.register_node",
        )


def interpret(graph: GeGraph, inputs: list[torch.Tensor], *, compute: bool = True) -> Interpretation:
    """Runs the nodes that NetOutput depends on. Graph inputs may be written by in-place nodes.

    With `compute` False custom nodes only have outputs of the right size: enough to know the shapes of the
    results. Raises OpkitError for a node that cannot be interpreted, naming it.
    """
    check_known(graph)
    values: dict[Edge, torch.Tensor] = {}
    uncomputed: list[str] = []
    for node in graph.live():
        if node.type == "NetOutput":
            continue
        try:
            results, computed = _run(node, values, inputs, compute)
        except OpkitError:
            raise
        except Exception as error:
            fed = ", ".join(
                f"{item.name}={describe(values.get(item.source)) if item.source else 'unfed'}"
                for item in node.inputs
            )
            raise OpkitError(f"GE node {node.name} ({node.type}) failed on {fed}: {error}") from error
        if not computed:
            uncomputed.append(node.name)
        for index, value in enumerate(results):
            values[Edge(node.name, index)] = value
    outputs = []
    for item in graph.net_output.inputs:
        if item.source is None or item.source not in values:
            raise OpkitError(f"GE graph {graph.name}: NetOutput's {item.name} is not fed by a value")
        outputs.append(values[item.source])
    return Interpretation(tuple(outputs), tuple(uncomputed))


def _run(
    node: GeNode, values: dict[Edge, torch.Tensor], inputs: list[torch.Tensor], compute: bool
) -> tuple[list[torch.Tensor], bool]:
    if node.type in ("Data", "RefData"):
        index = int(node.attrs.get("index", 0))
        if index >= len(inputs):
            raise OpkitError(f"GE node {node.name} is graph input {index}, only {len(inputs)} were given")
        return [inputs[index]], True
    if node.type in ("Const", "Constant"):
        return [const_tensor(node.attrs.get("value"), node.name)], True
    call = NodeCall(node, {item.name: values[item.source] for item in node.inputs if item.source is not None})
    adapter = adapter_of(node.type)
    if isinstance(adapter, NodeSpec):
        named, computed = call_custom(call, adapter, compute=compute)
        return _by_position(call, named), computed
    returned = (adapter or STANDARD[node.type])(call)
    if adapter is None:
        call.require_all_read()
    results = list(returned) if isinstance(returned, (list, tuple)) else [returned]
    if len(results) < len(node.outputs):
        raise OpkitError(
            f"GE node {node.name} ({node.type}) gave {len(results)} of {len(node.outputs)} outputs"
        )
    return [_settled(node, index, result, call) for index, result in enumerate(results)], True


def _by_position(call: NodeCall, named: dict[str, Any]) -> list[torch.Tensor]:
    """Outputs in the order of the node's output descriptions; a list comes out as name0, name1, ..."""
    flat: dict[str, torch.Tensor] = {}
    for name, value in named.items():
        if isinstance(value, (list, tuple)):
            flat.update({f"{name}{index}": item for index, item in enumerate(value)})
        else:
            flat[name] = value
    if {desc.name for desc in call.node.outputs} - set(flat):
        raise OpkitError(f"GE node {call.node.name}: {missing_outputs(call, named)}")
    return [flat[desc.name] for desc in call.node.outputs]


def _settled(node: GeNode, index: int, result: torch.Tensor, call: NodeCall) -> torch.Tensor:
    """An output as GE has it: contiguous, and memory of its own unless the node shares its input's."""
    if node.type in ALIASES:
        return result
    if index in node.in_place:
        place = call[node.inputs[node.in_place[index]].name]
        if place.data_ptr() != result.data_ptr() or place.size() != result.size():
            raise OpkitError(f"GE node {node.name} ({node.type}) did not write output {index} in place")
        return place
    result = result.contiguous()
    shared = any(
        value.numel() and value.untyped_storage().data_ptr() == result.untyped_storage().data_ptr()
        for value in call.values()
    )
    return result.clone() if shared else result


def const_tensor(value: Any, name: str) -> torch.Tensor:
    """The tensor of a Const node. Raises OpkitError if the node has none or too few bytes."""
    import torch

    if not isinstance(value, ConstValue):
        raise OpkitError(f"the Const node {name} has no value")
    dtype = value.dtype.torch()
    count = 1
    for dim in value.shape:
        count *= dim
    if count == 0:
        return torch.empty(value.shape, dtype=dtype)
    if len(value.data) < count * dtype.itemsize:
        raise OpkitError(f"the Const node {name} has {len(value.data)} bytes for {count} elements of {dtype}")
    return torch.frombuffer(bytearray(value.data), dtype=dtype, count=count).reshape(value.shape)
