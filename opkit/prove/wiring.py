"""Compares the Ascend IR node in a GE graph with the declaration: inputs, attributes, outputs, write-back."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from typing import Any

from opkit.cann.ge_graph import CONTROL, Edge, GeGraph, GeNode
from opkit.emit.ge_binding import Binding
from opkit.model.prototype import IrAttribute
from opkit.model.schema import Argument, base_of, is_tensor_like
from opkit.prove import casts, node_form
from opkit.prove.ge_trace import Trace
from opkit.prove.signature import scalar_type
from opkit.prove.subject import place
from opkit.prove.values import Inputs


class Wiring:
    """The checks of one node in one graph; each method gives "" or what is wrong."""

    def __init__(
        self,
        trace: Trace,
        binding: Binding,
        node: GeNode,
        given: Inputs,
        results: list[Any],
        compared: bool = False,
    ) -> None:
        self.trace, self.binding, self.node, self.given, self.results = trace, binding, node, given, results
        # Whether the results are compared with a reference's.
        self.compared = compared
        self.graph: GeGraph = trace.graphs[-1]
        self.inputs = {item.name: item.source for item in node.inputs}
        # What was found out, for the evidence.
        self.fed: dict[str, str] = {}

    def problem(self) -> str:
        """Give the first thing that is wrong, or ""."""
        checks = (self._inputs, self._attributes, self._outputs, self._writes)
        return next((text for check in checks for text in check()), "")

    def input_problem(self) -> str:
        """Give the first input that is wrong, or ""."""
        return next(self._inputs(), "")

    def attribute_problem(self) -> str:
        """Give the first attribute that is wrong, or ""."""
        return next(self._attributes(), "")

    def _origin(self, edge: Edge | None) -> Edge | None:
        """Follow an edge back through nodes that only hand on a value."""
        while edge is not None and edge.index != CONTROL:
            node = self.graph.node(edge.node)
            if node.type not in casts.TRANSPARENT or not node.inputs:
                return edge
            edge = node.inputs[0].source
        return edge

    def _fed_by(self, edge: Edge | None) -> str:
        """Name what an input is fed by: an argument, or the node that made the value."""
        origin = self._origin(edge)
        if origin is None:
            return "nothing"
        node = self.graph.node(origin.node)
        if node.type in ("Data", "RefData"):
            path = self.trace.argument_of(node.name, self.binding.spec.schema)
            return place(path) if path else f"graph input {node.name}"
        return node.type

    def _inputs(self) -> Iterator[str]:
        expected: list[str] = []
        for tensor, argument in self.binding.inputs:
            for name, wanted in _expected_inputs(tensor.name, tensor.kind, argument, self.given):
                expected.append(name)
                found = self._fed_by(self.inputs.get(name))
                self.fed[name] = found
                if found != wanted and not (wanted == "Const" and found != "nothing"):
                    yield f"input `{name}` of {self.node.type} is fed by {found} instead of {wanted}"
                cast = casts.problem(self.graph, self.inputs.get(name), self.compared)
                if cast and wanted != "Const":
                    yield f"input `{name}` of {self.node.type} passes through {cast}"
        for name, source in self.inputs.items():
            if name not in expected and source is not None:
                yield f"{self.node.type} has an input `{name}` that the prototype and this case do not have"
        yield from node_form.inputs(self.node, expected)

    def _attributes(self) -> Iterator[str]:
        yield from node_form.attributes(
            self.node, self.trace.kinds[-1][self.node.name], self.binding.prototype
        )
        found = self.node.ir_attrs
        for attribute, argument in self.binding.attributes:
            value = _argument_value(argument, self.given)
            if value is None:
                if attribute.name in found:
                    yield f"attribute `{attribute.name}` is {found[attribute.name]!r}, the case gives None"
            elif attribute.name not in found:
                yield f"attribute `{attribute.name}` is missing; the case gives {value!r}"
            elif not _same_attribute(attribute, argument, found[attribute.name], value):
                yield f"attribute `{attribute.name}` is {found[attribute.name]!r}, the case gives {value!r}"

    def _outputs(self) -> Iterator[str]:
        """Check that each result leaves the graph from the IR output that belongs to it."""
        names = {index: tensor for tensor, index in self.binding.results if index is not None}
        position = 0
        for index, value in enumerate(self.results):
            tensor = names.get(index)
            for item in range(len(value) if isinstance(value, (list, tuple)) else 1):
                if value is not None and tensor is not None:
                    wanted = f"{tensor.name}{item}" if tensor.kind == "dynamic" else tensor.name
                    yield from self._output(index, position, wanted)
                position += 1
        yield from node_form.outputs(self.node, self.binding.prototype)

    def _output(self, result: int, position: int, wanted: str) -> Iterator[str]:
        leaving = self.trace.result_index(position)
        if leaving is None or leaving >= len(self.graph.net_output.inputs):
            yield f"result {result} is not computed by the graph"
            return
        source = self.graph.net_output.inputs[leaving].source
        cast = casts.problem(self.graph, source, self.compared)
        if cast:
            yield f"result {result} passes through {cast}"
        found = self._output_name(self._origin(source))
        if found != f"{self.node.name}.{wanted}":
            yield f"result {result} is {found}, the declaration says output `{wanted}` of {self.node.type}"

    def _output_name(self, edge: Edge | None) -> str:
        if edge is None:
            return "nothing"
        node = self.graph.node(edge.node)
        if edge.index >= len(node.outputs) or node.type in ("Data", "RefData"):
            return self._fed_by(edge)
        return f"{node.name}.{node.outputs[edge.index].name}"

    def _writes(self) -> Iterator[str]:
        """Check that every mutated argument is written through a reference output of the node."""
        names = {a.name: tensor.name for tensor, a in self.binding.inputs if a is not None}
        for path, _ in self.given.tensors():
            argument = self.binding.spec.schema.argument(path[0])
            if argument is None or not argument.is_mutated:
                continue
            name = names[path[0]] + ("" if path[1] is None else str(path[1]))
            yield from self._write(path, name)

    def _write(self, path: tuple[str, int | None], name: str) -> Iterator[str]:
        source = self.inputs.get(name)
        if source is not None and self.graph.node(source.node).type not in ("TensorMove", "Data", "RefData"):
            yield f"input `{name}` is not fed by the mutated argument's TensorMove"
        indexes = [
            node.attrs.get("index", 0)
            for node in self.graph.data
            if self.trace.argument_of(node.name, self.binding.spec.schema) == path
        ]
        places = [out for out, data in self.trace.written_back.items() if data in indexes]
        sources = [self.graph.net_output.inputs[out].source for out in places]
        found = [self._output_name(edge) for edge in sources]
        if f"{self.node.name}.{name}" not in found:
            by = f"written back from {', '.join(found)}" if found else "never written back"
            yield (
                f"the mutated argument {place(path)} is {by}; it must come from output `{name}` of "
                f"{self.node.type}, named like the input, so that GE takes both for the same memory"
            )

    def written_back(self) -> dict[str, str]:
        """Name the argument whose memory each NetOutput entry is written to: `{"NetOutput:1": "x"}`."""
        names = {}
        for node in self.graph.data:
            path = self.trace.argument_of(node.name, self.binding.spec.schema)
            names[node.attrs.get("index", 0)] = place(path) if path else node.name
        return {f"NetOutput:{out}": names[data] for out, data in self.trace.written_back.items()}


def _expected_inputs(
    name: str, kind: str, argument: Argument | None, given: Inputs
) -> Iterator[tuple[str, str]]:
    """List (name of the node's input, what must feed it)."""
    value = None if argument is None else _argument_value(argument, given)
    if argument is None or value is None:
        yield name, "nothing"
    elif not is_tensor_like(argument.type):
        yield name, "Const"
    elif kind == "dynamic":
        for index, item in enumerate(value):
            yield f"{name}{index}", "nothing" if item is None else place((argument.name, index))
    else:
        yield name, place((argument.name, None))


def _argument_value(argument: Argument, given: Inputs) -> Any:
    if argument.name in given.values:
        return given.values[argument.name]
    return None if argument.default is None else argument.default.value


def _same_attribute(attribute: IrAttribute, argument: Argument, found: Any, value: Any) -> bool:
    import torch

    if isinstance(value, (list, tuple)):
        # An empty list has no kind in the serialized form.
        items = [] if found is None else found
        if not isinstance(items, (list, tuple)) or len(items) != len(value):
            return False
        return all(_same_attribute(attribute, argument, f, v) for f, v in zip(items, value))
    if isinstance(value, torch.dtype) or base_of(argument.type).name == "ScalarType":
        return bool(found == _ge_dtype(value))
    if isinstance(value, (bool, str)):
        return bool(found == value)
    # GE keeps floats in 32 bits.
    return isinstance(found, (int, float)) and math.isclose(found, value, rel_tol=1e-6, abs_tol=1e-12)


def _ge_dtype(value: Any) -> Any:
    """Give GE's number for a torch dtype, as torchair has it."""
    import torch

    convert = sys.modules["torchair.ge._ge_graph"].torch_type_to_ge_type
    return int(convert(value if isinstance(value, torch.dtype) else scalar_type(value)))
