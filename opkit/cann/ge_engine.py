"""The GE engine of the stand-in: describes, keeps and runs the graphs that torchair compiles."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from opkit.cann.ge_dtypes import from_number, from_torch
from opkit.cann.ge_graph import GeGraph, GeNode, TensorDesc, parse_graph
from opkit.cann.ge_interpreter import Interpretation, check_known, interpret
from opkit.cann.library import GeCall, GeOutput, GeTensor, standin
from opkit.errors import OpkitError

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class GeRun:
    """One run of a graph. What an uncomputed node gave is poison or the write mark, never a result."""

    graph: int
    uncomputed: tuple[str, ...]  # names of nodes
    error: str = ""  # why the run failed


class GeEngine:
    """What reached GE in this process."""

    def __init__(self) -> None:
        self.graphs: list[GeGraph] = []  # in the order in which they were compiled
        self.runs: list[GeRun] = []
        self.errors: list[
            BaseException
        ] = []  # of refused graphs and failed runs, which torchair reports as text only
        self._live: dict[int, GeGraph] = {}

    def describe(self, graph_id: int, data: bytes) -> tuple[bool, Sequence[GeOutput]]:
        """Takes a graph in. Whether all its shapes are known, and its outputs, as inferred from its nodes."""
        try:
            graph = parse_graph(graph_id, data)
            self.graphs.append(graph)
            check_known(graph)
            outputs = _infer(graph) if graph.is_static else _declared(graph)
        except Exception as error:
            self.errors.append(error)
            raise
        self._live[graph_id] = graph
        return graph.is_static, outputs

    def run(self, graph_id: int, inputs: tuple[GeTensor, ...], call: GeCall) -> None:
        """Runs a graph on device and host memory, and writes its outputs."""
        import torch

        try:
            with torch.no_grad():
                self._run(graph_id, inputs, call)
        except Exception as error:
            self.errors.append(error)
            self.runs.append(GeRun(graph_id, (), f"{type(error).__name__}: {error}"))
            raise

    def _run(self, graph_id: int, inputs: tuple[GeTensor, ...], call: GeCall) -> None:
        graph = self._live.get(graph_id)
        if graph is None:
            raise OpkitError(f"GE graph {graph_id} was not compiled")
        done = interpret(graph, [_view(tensor) for tensor in inputs])
        # An output may be the memory of an input, so all are read before one is written.
        values = [value.clone() for value in done.outputs]
        for index, value in enumerate(values):
            given = call.outputs[index] if index < len(call.outputs) else None
            place = given if given is not None else _allocate(call, index, value)
            _write(graph, index, value, place)
            _carry_mark(graph, done, inputs, place)
        self.runs.append(GeRun(graph_id, done.uncomputed))

    def remove(self, graph_id: int) -> None:
        """Forgets that a graph can run; `graphs` keeps it as evidence."""
        self._live.pop(graph_id, None)

    def clear(self) -> None:
        """Empties the evidence. Graphs that are compiled can still run."""
        self.graphs.clear()
        self.runs.clear()
        self.errors.clear()


_engine: GeEngine | None = None
_lock = threading.Lock()


def engine() -> GeEngine:
    """The engine of this process, made by the first call. Raises StandInError on real CANN."""
    global _engine
    with _lock:
        if _engine is None:
            made = GeEngine()
            standin().set_ge_interpreter(made.describe, made.run, made.remove)
            _engine = made
    return _engine


def _declared(graph: GeGraph) -> list[GeOutput]:
    return [GeOutput(item.desc.dtype.number, item.desc.shape) for item in graph.net_output.inputs]


def _infer(graph: GeGraph) -> list[GeOutput]:
    """The shapes and dtypes that the nodes give on zeros: torchair compares them with the FX graph's."""
    import torch

    with torch.no_grad():
        inputs = [_zeros(node) for node in graph.data]
        done = interpret(graph, inputs, compute=False)
    return [GeOutput(from_torch(value.dtype).number, tuple(value.size())) for value in done.outputs]


def _zeros(node: GeNode) -> torch.Tensor:
    import torch

    desc: TensorDesc = node.outputs[0]
    return torch.zeros(desc.shape, dtype=desc.dtype.torch())


def _view(tensor: GeTensor) -> torch.Tensor:
    import torch

    dtype = from_number(tensor.dtype).torch()
    count = 1
    for dim in tensor.dims:
        count *= dim
    if count == 0:
        return torch.empty(tensor.dims, dtype=dtype)
    if tensor.bytes < count * dtype.itemsize:
        raise OpkitError(f"a GE tensor of {count} elements of {dtype} has only {tensor.bytes} bytes")
    buffer: Any = (ctypes.c_char * (count * dtype.itemsize)).from_address(tensor.data)
    return torch.frombuffer(buffer, dtype=dtype).reshape(tensor.dims)


def _allocate(call: GeCall, index: int, value: torch.Tensor) -> GeTensor:
    number, dims = from_torch(value.dtype).number, tuple(value.size())
    nbytes = value.numel() * value.element_size()
    return GeTensor(call.allocate(index, number, dims, nbytes), nbytes, number, dims)


def _carry_mark(graph: GeGraph, done: Interpretation, inputs: tuple[GeTensor, ...], place: GeTensor) -> None:
    """Marks an output as uncomputed if any node, or any input, of its graph is."""
    library = standin()
    source = f"GE graph {graph.name}: {', '.join(done.uncomputed)}" if done.uncomputed else ""
    if not source and library.tainted:
        source = next(filter(None, (library.taint_of(item.data, item.bytes) for item in inputs)), "")
    if source:
        library.taint(place.data, place.bytes, source)
    else:
        library.untaint(place.data, place.bytes)


def _write(graph: GeGraph, index: int, value: torch.Tensor, place: GeTensor) -> None:
    dtype = from_number(place.dtype).torch()
    if dtype != value.dtype or tuple(place.dims) != tuple(value.size()):
        raise OpkitError(
            f"GE graph {graph.name} computed {value.dtype}{list(value.size())} for output {index}, "
            f"its memory was given as {dtype}{list(place.dims)}"
        )
    _view(place).copy_(value)
