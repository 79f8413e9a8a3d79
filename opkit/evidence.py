"""What generated example scripts call: a kernel where there is none, and a look at what was captured."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opkit.errors import OpkitError

if TYPE_CHECKING:
    from opkit.cann.ge_graph import GeNode
    from opkit.model.operator import OpSpec
    from opkit.prove import capture, ge_trace


def use_references(yaml: Path, namespace: str = "npu") -> str:
    """Let every operator's `reference:` stand for its kernel where the stand-in runs; return the runtime.

    The operators must be registered. On CANN nothing is done: their kernels, and for GE their Ascend IR, must
    be installed. Raises OpkitError when the YAML or a reference is no use.
    """
    from opkit.cann.load import ensure_runtime
    from opkit.model.diagnostic import has_errors
    from opkit.prove.observe import needs_kernels
    from opkit.read import read_file

    runtime = ensure_runtime().kind
    if needs_kernels():
        op_file, diagnostics = read_file(yaml)
        if op_file is None or has_errors(diagnostics):
            raise OpkitError(f"{yaml} has mistakes", "`opkit check` shows them")
        for spec in op_file.operators:
            _stand_for(spec, namespace, yaml)
    return runtime


def _stand_for(spec: OpSpec, namespace: str, yaml: Path) -> None:
    from opkit.cann.ge_custom import NodeSpec, register_node
    from opkit.cann.library import standin
    from opkit.cann.reference import bind_reference
    from opkit.emit.ge_binding import bind
    from opkit.emit.ir_json import ir_definition
    from opkit.prove.entry import load_function

    name = f"{spec.schema.name.namespace or namespace}::{spec.name}"
    if spec.reference is not None:
        # A custom_op has a Python kernel that would run on the NPU tensors; this one takes its place.
        bind_reference(name, load_function(spec.reference, str(yaml)), replace=True)
    binding = bind(spec)[0]
    if binding is None:
        return
    definition: dict[str, Any] = ir_definition(binding.prototype)
    standin().define_ir(**definition)
    pairs = [(a, t.name) for t, a in binding.inputs if a] + [(a, i.name) for i, a in binding.attributes]
    fresh = [t.name for t, index in binding.results if index is not None]
    node = NodeSpec(name, {a.name: ir for a, ir in pairs}, tuple(fresh))
    register_node(binding.prototype.op, node, replace=True)


class Captures:
    """What npugraph_ex did since the last report."""

    def __init__(self, recorder: capture.Recorder) -> None:
        self._recorder = recorder

    def report(self) -> str:
        """Tell it in a line. Raises OpkitError when the call ran eagerly: its results would be right, too."""
        problem = self._recorder.problem()
        if problem:
            raise OpkitError(problem)
        seen = self._recorder.take()
        if seen.tasks is None:
            # CANN does not tell what it replays.
            return f"{seen.captures} captured, {self._recorder.replayable} ready to replay"
        if not seen.replayed:
            raise OpkitError("no captured graph was replayed: the call ran eagerly")
        captured = f"captured {', '.join(seen.tasks)}; " if seen.tasks else ""
        return f"{captured}replayed {', '.join(seen.replayed)}"


@contextmanager
def watch_npugraph_ex() -> Iterator[Captures]:
    """Look at the captures and replays inside a `with`."""
    from opkit.cann.load import ensure_runtime
    from opkit.prove import capture

    ensure_runtime()
    capture.forget()
    with capture.Recorder() as recorder:
        yield Captures(recorder)


class Graphs:
    """What torchair handed to GE."""

    def __init__(self, trace: ge_trace.Trace) -> None:
        self._trace = trace

    def report(self) -> str:
        """Print the graphs, a node a line. Raises OpkitError when none ran: the call was eager, then."""
        if not self._trace.graphs or not self._trace.runs:
            raise OpkitError("no graph ran in GE: the call ran eagerly")
        return "\n".join(
            f"GE graph {graph.name}:\n" + "\n".join(f"  {_node(node)}" for node in graph.nodes)
            for graph in self._trace.graphs
        )


@contextmanager
def watch_ge() -> Iterator[Graphs]:
    """Look at the graphs that reach GE inside a `with`; torchair must be imported."""
    from opkit.prove import ge_trace

    with ge_trace.Recorder() as recorder:
        yield Graphs(recorder.trace)


def _node(node: GeNode) -> str:
    inputs = [
        f"{i.name}={'-' if i.source is None else f'{i.source.node}:{i.source.index}'}" for i in node.inputs
    ]
    after = [f"after {name}" for name in node.controls]
    attributes = [f"{k}={v}" for k, v in sorted(node.ir_attrs.items())] if node.type not in _PLUMBING else []
    outputs = ", ".join(o.name for o in node.outputs)
    return (
        f"{node.name} = {node.type}({', '.join([*inputs, *after, *attributes])}) -> {outputs or '(results)'}"
    )


# Nodes torchair makes itself, whose attributes say nothing about the operator.
_PLUMBING = {"Data", "RefData", "Const", "TensorMove", "Assign", "NetOutput"}
