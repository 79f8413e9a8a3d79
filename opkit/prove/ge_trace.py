"""Sees what torchair hands to GE: the serialized graph, which graph input is which argument, the runs."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from opkit.cann.ge_graph import GeGraph, parse_graph
from opkit.model.schema import OperatorSchema
from opkit.prove.values import Path

_SOURCE = re.compile(r"L\['(args|kwargs)'\]\[(?:(\d+)|'(\w+)')\](?:\[(\d+)\])?$")
_DATA_NAME = re.compile(r"arg(\d+)_\d+$")


@dataclass
class Trace:
    """What happened while a `Recorder` was entered."""

    # Graphs as they were loaded into GE.
    graphs: list[GeGraph] = field(default_factory=list)
    # How the attributes of each graph's nodes are serialized: node -> attribute -> "i", "list.f", ...
    kinds: list[dict[str, dict[str, str]]] = field(default_factory=list)
    # torchair's GeConcreteGraph objects, one per compiled FX graph.
    concretes: list[Any] = field(default_factory=list)
    # Dynamo's sources of the graph's placeholders, one list per FX graph.
    sources: list[list[str]] = field(default_factory=list)
    runs: int = 0
    # Types of the nodes that converters made with `ge.custom_op`, in that order.
    built: list[str] = field(default_factory=list)
    # What GE raised while it compiled or ran a loaded graph.
    error: BaseException | None = None

    def argument_of(self, data_name: str, schema: OperatorSchema) -> Path | None:
        """Tell which argument a Data node holds; None when that cannot be told."""
        match = _DATA_NAME.match(data_name)
        sources = self.sources[-1] if self.sources else []
        if match is None or int(match[1]) >= len(sources):
            return None
        return _path(sources[int(match[1])], schema)

    def result_index(self, fx_output: int) -> int | None:
        """Give the position in NetOutput of the FX graph's n-th output; None when GE does not compute it."""
        index: int | None = self.concretes[-1]._fx_outputs_mapping.get(fx_output)
        return index

    @property
    def written_back(self) -> dict[int, int]:
        """NetOutput position -> index of the graph input whose memory torchair passes for it."""
        return dict(self.concretes[-1]._graph_output_ref_input)


def _path(source: str, schema: OperatorSchema) -> Path | None:
    match = _SOURCE.match(source)
    if match is None:
        return None
    kind, position, keyword, item = match.groups()
    if (kind == "args") != (position is not None):
        return None
    name = schema.positional[int(position)].name if position is not None else keyword
    return name, None if item is None else int(item)


class OnlyConverted(Exception):
    """Stops torchair when it has converted a graph that nobody wants to run."""


class Recorder:
    """Wraps torchair's way to GE while it is entered; everything is passed on unchanged."""

    def __init__(self, only_convert: bool = False) -> None:
        self.trace = Trace()
        self._only_convert = only_convert
        self._undo: list[Callable[[], None]] = []

    def __enter__(self) -> Recorder:
        backend = sys.modules["torchair.core._backend"].TorchNpuGraph
        concrete = sys.modules["torchair._ge_concrete_graph.fx2ge_converter"].GeConcreteGraph
        self._wrap(backend, "load", self._load)
        self._wrap(backend, "compile", self._guard)
        self._wrap(backend, "run", self._run)
        self._wrap(concrete, "optimize_graph_without_runtime", self._optimize)
        self._wrap(sys.modules["torchair"].ge, "custom_op", self._build)
        return self

    def __exit__(self, *_: object) -> None:
        for undo in self._undo:
            undo()

    def backend(self) -> Callable[..., Any]:
        """Make torchair's backend, noting where each placeholder of the FX graph comes from."""
        import torchair

        compile_graph = torchair.get_npu_backend(compiler_config=torchair.CompilerConfig())

        def compile_and_note(module: Any, example_inputs: Any, **options: Any) -> Any:
            nodes = [node for node in module.graph.nodes if node.op == "placeholder"]
            self.trace.sources.append([_source_name(node) for node in nodes])
            return compile_graph(module, example_inputs, **options)

        return compile_and_note

    def _wrap(self, owner: Any, name: str, around: Callable[..., Any]) -> None:
        original = getattr(owner, name)

        def wrapper(this: Any, *args: Any, **kwargs: Any) -> Any:
            return around(original, this, *args, **kwargs)

        setattr(owner, name, wrapper)
        self._undo.append(lambda: setattr(owner, name, original))

    def _load(self, original: Callable[..., Any], this: Any, graph: Any, *args: Any, **kwargs: Any) -> Any:
        self.trace.graphs.append(parse_graph(len(self.trace.graphs), graph.SerializeToString()))
        self.trace.kinds.append({op.name: {n: _kind(v) for n, v in op.attr.items()} for op in graph.op})
        if self._only_convert:
            raise OnlyConverted
        return original(this, graph, *args, **kwargs)

    def _build(self, original: Callable[..., Any], op_type: str, *args: Any, **kwargs: Any) -> Any:
        self.trace.built.append(op_type)
        return original(op_type, *args, **kwargs)

    def _guard(self, original: Callable[..., Any], this: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return original(this, *args, **kwargs)
        except Exception as error:
            self.trace.error = error
            raise

    def _run(self, original: Callable[..., Any], this: Any, *args: Any, **kwargs: Any) -> Any:
        result = self._guard(original, this, *args, **kwargs)
        self.trace.runs += 1
        return result

    def _optimize(self, original: Callable[..., Any], this: Any, *args: Any, **kwargs: Any) -> Any:
        self.trace.concretes.append(this)
        return original(this, *args, **kwargs)


# torchair's numbers for the type of a list's items, which an empty list has too (2.13's ge/attr.py).
_ITEMS = {0: "s", 2: "i", 3: "f", 4: "b", 10: "dt"}


def _kind(value: Any) -> str:
    kind = str(value.WhichOneof("value") or "")
    if kind != "list":
        return kind
    filled = [name for name in _ITEMS.values() if len(getattr(value.list, name))]
    return f"list.{filled[0] if filled else _ITEMS.get(value.list.val_type, '')}"


def _source_name(node: Any) -> str:
    """Give Dynamo's name of what feeds a placeholder: `L['args'][0]`."""
    argument = node.meta.get("grapharg")
    source = getattr(argument, "source", None) or getattr(node, "_dynamo_source", None)
    name = getattr(source, "name", "")
    return str(name() if callable(name) else name)
