"""What generated example scripts call: a kernel where there is none, and a look at what was captured."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opkit.errors import OpkitError

if TYPE_CHECKING:
    from opkit.cann.ge_graph import GeNode
    from opkit.prove import capture, ge_trace


def use_reference(name: str, reference: Callable[..., Any], prototype: Path | None = None) -> str:
    """Let a function on CPU tensors stand for the operator's kernel on the stand-in; return the runtime.

    `prototype` is the operator's IR prototype json, which GE must know. On CANN nothing is done: the kernel
    and the IR must be installed. Raises OpkitError when the operator is not defined or the json cannot be read.
    """
    from opkit.cann.load import ensure_runtime

    runtime = ensure_runtime().kind
    if runtime == "stand-in":
        from opkit.cann.reference import bind_reference

        # A custom_op has a Python kernel that would run on the NPU tensors; this one takes its place.
        bind_reference(name, reference, replace=True)
        if prototype is not None:
            _define_ir(prototype)
    return runtime


def _define_ir(path: Path) -> None:
    from opkit.cann.library import standin
    from opkit.emit.ir_json import ir_definition
    from opkit.read import read_prototype

    prototypes, diagnostics = read_prototype(path, None)
    if diagnostics:
        raise OpkitError(f"{path}: {diagnostics[0].message}", diagnostics[0].help)
    for prototype in prototypes:
        definition: dict[str, Any] = ir_definition(prototype)
        standin().define_ir(**definition)


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

    runtime = ensure_runtime().kind
    capture.forget(runtime)
    with capture.Recorder(runtime) as recorder:
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
