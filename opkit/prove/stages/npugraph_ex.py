"""Stage npugraph_ex: the operator is captured once and replayed, and the replay does its work.

Judged by what happened: the capture's tasks, the replay function, kernel calls and captures during the second
call, and the memory of mutated arguments. Counters and `explain()` are no evidence: a failed capture still
counts as one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from opkit.prove import capture, fake, kernels
from opkit.prove.compare import layouts
from opkit.prove.protocol import StageResult, failed, proved
from opkit.prove.stages.dynamo import explain
from opkit.prove.subject import Run, Subject, on_cpu, on_npu, place, results_of, run_eagerly, to_cpu
from opkit.prove.values import Inputs, size_order, sizes
from opkit.prove.watch import has_meta

NAME = "npugraph_ex"
_OPTIONS = {"backend": "npugraph_ex", "fullgraph": True}


def run(subject: Subject) -> StageResult:
    """Compile, capture, replay with new values, then call with other sizes under `dynamic=True`."""
    evidence: dict[str, Any] = {}
    try:
        problem = _static(subject, evidence) or _dynamic(subject, evidence)
    except Exception as error:
        refused, tasks = capture.refusals()
        if tasks and not refused:
            return failed(NAME, f"the captured work fails when it runs: {tasks[0]}", **evidence)
        if refused:
            evidence["refused"] = refused
            # The stand-in's refusal begins with the operator.
            call = refused[0].removeprefix(f"{subject.name}: ")
            text = f"the kernel of {subject.name} made a call that is not allowed while capturing: {call}"
            return failed(NAME, text, **evidence)
        return failed(NAME, explain(error), **evidence)
    return failed(NAME, problem, **evidence) if problem else proved(NAME, **evidence)


def _static(subject: Subject, evidence: dict[str, Any]) -> str:
    import torch

    torch._dynamo.reset()
    capture.forget()
    compiled = torch.compile(subject.model(), dynamic=False, **_OPTIONS)
    given = on_npu(subject.inputs(seed=1))
    start = kernels.calls(subject)
    with capture.Recorder() as recorder:
        call_compiled(subject, compiled, given, "first call")
        calls = kernels.calls(subject)
        first = recorder.take()
        problem = recorder.problem() or _captured(subject, recorder, first, evidence)
        if problem:
            return problem
        # New values in the same memory: a replay must read and write what the caller's tensors hold now.
        given.copy_from(subject.inputs(seed=2))
        recorder.take()
        with no_recompile():
            replay = call_compiled(subject, compiled, given, "replay")
        second = recorder.take()
    again = kernels.calls(subject)
    # The first call runs the kernel's host code to warm up and to capture; a replay never does.
    evidence["kernel calls"] = {
        "before the replay": _between(start, calls),
        "during the replay": _between(calls, again),
    }
    evidence["captures"] = {"first call": first.captures, "replay": second.captures}
    # One would have raised.
    evidence["recompiles"] = 0
    if second.captures:
        return "the second call captured again instead of replaying"
    if calls is not None and again is not None and again != calls:
        return f"the kernel ran {again - calls} times on the host during the replay"
    problem = recorder.problem() or _replayed(subject, second)
    evidence["written by replay"] = [place(path) for path in replay.written]
    return problem or judge(subject, replay)


def call_compiled(subject: Subject, compiled: Any, given: Inputs, what: str) -> Run:
    """Call the compiled function and keep what it gave."""
    before = on_cpu(given)
    args, kwargs = subject.arguments(given)
    results = results_of(compiled(*args, **kwargs))
    after = on_cpu(given)
    subject.runs.append(Run(what, before, [to_cpu(value) for value in results], after))
    return subject.runs[-1]


def _between(earlier: int | None, later: int | None) -> int | None:
    return None if earlier is None or later is None else later - earlier


@contextmanager
def no_recompile() -> Iterator[None]:
    """Make Dynamo raise instead of compiling again."""
    import torch

    with torch._dynamo.config.patch(error_on_recompile=True):
        yield


def _captured(
    subject: Subject, recorder: capture.Recorder, seen: capture.Seen, evidence: dict[str, Any]
) -> str:
    """Judge the first call: one graph with a replay function, and the operator's task inside it."""
    evidence["replay function"] = recorder.replayable == 1
    if recorder.replayable != 1:
        return f"{recorder.replayable} captured graphs with a replay function instead of one"
    if seen.tasks is None:
        evidence["tasks"] = "not listed: the real runtime does not tell the tasks of a captured model"
        return ""
    evidence["tasks"] = seen.tasks
    if not seen.tasks:
        return (
            "nothing was captured: the graph holds no task, so the operator ran outside of it or not at all"
        )
    if kernels.is_bound(subject) and subject.name.split(".")[0] not in {t.split(".")[0] for t in seen.tasks}:
        return f"the captured graph holds no task of {subject.name}, only {', '.join(seen.tasks)}"
    return ""


def _replayed(subject: Subject, seen: capture.Seen) -> str:
    """Judge the second call on the stand-in: the model that ran holds the operator's task, and ran alone."""
    if seen.tasks is None:
        return ""
    if not seen.replayed:
        return "the second call replayed no captured task"
    name = subject.name.split(".")[0]
    inside, all_ = (sum(t.split(".")[0] == name for t in tasks) for tasks in (seen.replayed, seen.ran))
    if all_ > inside:
        return (
            f"{subject.name} was launched {all_ - inside} times outside of the graph during the second call"
        )
    return ""


def judge(subject: Subject, done: Run, by_kernel: bool = True) -> str:
    """Compare a run's results with the Meta kernel's and what it wrote with the schema.

    What the operator's kernel did not compute has strides of its own, and may have no values.
    """
    if has_meta(subject.name):
        metas = fake.call_model(subject, on_npu(done.before))
        problem = layouts(done.results, metas, "the graph", strides=by_kernel)
        if problem:
            return problem
    mutated = {argument.name for argument in subject.spec.schema.mutated}
    for path in done.written:
        if path[0] not in mutated:
            return f"the {done.what} wrote {place(path)}, which the schema declares as read-only"
    left = [path for path, _ in done.after.tensors() if path[0] in mutated and path not in done.written]
    if not left or subject.uncomputed or not (by_kernel or kernels.is_bound(subject)):
        return ""
    # These values may be some that the operator leaves as they are.
    eager = run_eagerly(subject, done.before)
    for path in left:
        if path in eager.written:
            return f"the {done.what} left {place(path)} as it was, which the schema declares as written"
    return ""


def _dynamic(subject: Subject, evidence: dict[str, Any]) -> str:
    """Call with every set of sizes under `dynamic=True`; no set may compile again."""
    import torch
    from torch.fx.experimental import _config

    from opkit.prove import host_values

    if sizes(subject.case) < 2:
        evidence["sizes"] = "one: the case gives no dim several values, so dynamic shapes were not tried"
        return ""
    order, ordinary = size_order(subject.case)
    torch._dynamo.reset()
    compiled = torch.compile(subject.model(), dynamic=True, **_OPTIONS)
    # Without duck shaping two dims that happen to be equal in the first set do not become one symbol.
    with capture.Recorder() as recorder, _config.patch(use_duck_shape=False):

        def call(given: Inputs, what: str, symbolic: bool) -> str:
            with no_recompile() if symbolic else nullcontext():
                done = call_compiled(subject, compiled, on_npu(given), what)
            return recorder.problem() or judge(subject, done)

        for position, size in enumerate(order):
            try:
                problem = call(subject.inputs(size, seed=3), f"sizes {size + 1}", 0 < position < ordinary)
            except torch._dynamo.exc.RecompileError as error:
                return f"under dynamic=True set {size + 1} of the sizes compiles again: {guard_of(error)}"
            if problem:
                return f"under dynamic=True with set {size + 1} of the sizes: {problem}"
            if position == ordinary - 1:
                # A recompile would have raised.
                evidence["dynamic"] = {"sets of sizes": ordinary, "recompiles": 0}
                evidence["sizes"] = f"{ordinary} sets of sizes, one FX graph, {recorder.replayable} captures"
        problem = (
            ""
            if subject.call or not ordinary
            else host_values.look(subject, order[0], call, recorder, evidence)
        )
        if problem:
            return f"under dynamic=True {problem}"
    evidence["sizes"] = describe_sizes(evidence.get("sizes", ""), len(order) - ordinary)
    return ""


def describe_sizes(text: str, special: int) -> str:
    """Add how many sets of sizes were judged on their own, as torch compiles for each of them."""
    alone = f"{special} with a dim of 0 or 1, for which torch compiles anew" if special else ""
    return "; ".join(part for part in (text, alone) if part)


def guard_of(error: BaseException) -> str:
    """Give the guard that made Dynamo want to compile again."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return next((line for line in lines if line.startswith("- ")), lines[0] if lines else "")
