"""How a small model is compiled with each backend, and what tells that it really entered the graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

from opkit.prove import capture, kernels
from opkit.prove.contexts import Context, Operator
from opkit.prove.operands import flat

Evidence = dict[str, Any]


class Backend(Protocol):
    """Compiles models and tells what became of them."""

    def watching(self) -> AbstractContextManager[None]:
        """Give a context manager in which everything is seen."""

    def compile(self, model: Any) -> Any:
        """Compile a model."""

    def no_recompile(self) -> AbstractContextManager[None]:
        """Give a context manager in which compiling raises."""

    def starts(self, op: Operator) -> None:
        """Note that a call of the compiled model begins."""

    def ended(self, op: Operator) -> None:
        """Note that it ended."""

    def entered(self, op: Operator, some: list[Context], calls: Counter[str], evidence: Evidence) -> str:
        """Judge the first call: is every one of `calls` in the graph?"""

    def replayed(self, op: Operator, evidence: dict[str, Any]) -> str:
        """Judge the second call: did it do nothing but run the graph?"""

    def refused(self) -> str:
        """Say what the runtime refused or which task failed, if that is why a call raised."""


def backend_of(mode: str) -> Backend:
    """Give the backend of a mode."""
    return _Ge() if mode == "ge" else _Captured()


@contextmanager
def _no_recompile() -> Iterator[None]:
    import torch

    with torch._dynamo.config.patch(error_on_recompile=True):
        yield


def _missing(found: Counter[str], calls: Counter[str], what: str) -> str:
    for name, wanted in calls.items():
        if found[name] != wanted:
            return f"the graph holds {found[name]} {what} of {name}, the model calls it {wanted} times"
    return ""


def _in_place_form(name: str) -> str:
    """Name the operator that npugraph_ex may call in another's place, as if it were its in-place form."""
    from opkit.prove.watch import is_defined

    base, dot, overload = name.partition(".")
    other = f"{base}_{dot}{overload}"
    return f"; npugraph_ex calls {other} in its place: give it another name" if is_defined(other) else ""


class _Captured:
    """npugraph_ex: the capture's tasks are counted, and a replay runs nothing else."""

    no_recompile = staticmethod(_no_recompile)

    def __init__(self) -> None:
        self.recorder = capture.Recorder()
        self.seen = self.recorder.take()
        # Calls of the operator's kernel on the host, in the last call; None where they are not counted.
        self.host: int | None = None

    @contextmanager
    def watching(self) -> Iterator[None]:
        self.recorder = capture.Recorder()
        with self.recorder:
            yield

    def compile(self, model: Any) -> Any:
        import torch

        return torch.compile(model, backend="npugraph_ex", fullgraph=True, dynamic=False)

    def starts(self, op: Operator) -> None:
        self.recorder.take()
        self.host = kernels.calls(op.subject)

    def ended(self, op: Operator) -> None:
        self.seen = self.recorder.take()
        after = kernels.calls(op.subject)
        self.host = None if self.host is None or after is None else after - self.host

    def entered(self, op: Operator, some: list[Context], calls: Counter[str], evidence: Evidence) -> str:
        problem = self.recorder.problem()
        if not problem and self.recorder.replayable != 1:
            problem = f"{self.recorder.replayable} captured graphs with a replay function instead of one"
        if problem:
            return problem
        name = op.subject.name
        if self.host is not None and not kernels.is_bound(op.subject) and self.host != calls[name]:
            text = f"the kernel of {name} ran {self.host} times for the capture, not {calls[name]} times"
            return text + _in_place_form(name)
        if self.seen.tasks is None:
            evidence["tasks"] = "not listed: the real runtime does not tell the tasks of a captured model"
            return ""
        tasks = Counter(task.split(".")[0] for task in self.seen.tasks)
        evidence["tasks"] = dict(tasks)
        operators = [o.subject for o in (op, *(other for context in some for other in context.others))]
        bases: Counter[str] = Counter()
        for subject in {s.name: s for s in operators if kernels.is_bound(s)}.values():
            bases[subject.name.split(".")[0]] += calls[subject.name]
        if not tasks:
            return "the captured graph holds no task"
        problem = _missing(tasks, bases, "tasks")
        return problem + _in_place_form(name) if problem else ""

    def replayed(self, op: Operator, evidence: dict[str, Any]) -> str:
        seen = self.seen
        evidence["captures"] = "one, replayed by the second call"
        if self.recorder.problem():
            return self.recorder.problem()
        if seen.captures:
            return "the second call captured again instead of replaying"
        if self.host:
            return f"the kernel ran {self.host} times on the host during the replay"
        if seen.tasks is not None and not seen.replayed:
            return "the second call replayed no captured task"
        base = op.subject.name.split(".")[0]
        inside, all_ = (sum(t.split(".")[0] == base for t in tasks) for tasks in (seen.replayed, seen.ran))
        if all_ > inside:
            return f"{op.subject.name} was launched {all_ - inside} times outside of the graph"
        return ""

    def refused(self) -> str:
        refused, tasks = capture.refusals()
        if refused:
            return f"a call that is not allowed while capturing: {refused[0]}"
        return f"the captured work fails when it runs: {tasks[0]}" if tasks else ""


class _Ge:
    """GE: the Ascend IR nodes of the loaded graph are counted, and GE runs it in every call."""

    no_recompile = staticmethod(_no_recompile)

    def __init__(self) -> None:
        from opkit.prove import ge_trace

        self.recorder = ge_trace.Recorder()

    @contextmanager
    def watching(self) -> Iterator[None]:
        from opkit.prove import ge_trace

        self.recorder = ge_trace.Recorder()
        with self.recorder:
            yield

    def compile(self, model: Any) -> Any:
        import torch

        return torch.compile(model, backend=self.recorder.backend(), fullgraph=True, dynamic=False)

    def starts(self, op: Operator) -> None:
        pass

    def ended(self, op: Operator) -> None:
        pass

    def entered(self, op: Operator, some: list[Context], calls: Counter[str], evidence: Evidence) -> str:
        from opkit.emit.ge_binding import bind

        trace = self.recorder.trace
        if len(trace.graphs) != 1:
            return f"{len(trace.graphs)} graphs were loaded into GE instead of one"
        nodes = Counter(node.type for node in trace.graphs[0].nodes)
        evidence["nodes"] = dict(nodes)
        wanted: Counter[str] = Counter()
        for item in {o.subject.name: o for o in (op, *(o for c in some for o in c.others))}.values():
            binding, _ = bind(item.subject.spec)
            if binding is not None and not _is_folded(item):
                wanted[binding.prototype.op] += calls[item.subject.name]
        for name in wanted:
            if nodes[name] > wanted[name] and _is_standard(name):
                wanted[name] = nodes[name]  # An aten operator makes such nodes, too.
        return _missing(nodes, wanted, "nodes")

    def replayed(self, op: Operator, evidence: dict[str, Any]) -> str:
        trace = self.recorder.trace
        evidence["runs"] = trace.runs
        if len(trace.graphs) != 1:
            return f"the second call loaded another graph into GE ({len(trace.graphs)} in all)"
        return "" if trace.runs == 2 else f"GE ran the graph {trace.runs} times in two calls"

    def refused(self) -> str:
        return ""


def _is_folded(op: Operator) -> bool:
    """Tell whether torchair puts constants in the operator's place, as its results have no elements."""
    tensors = flat(op.results)
    return bool(tensors) and not op.written and all(not tensor.numel() for tensor in tensors)


def _is_standard(name: str) -> bool:
    from opkit.cann.ge_layout_nodes import STANDARD

    return name in STANDARD
