"""Stage composition: the operator enters as a part of a model, not only by itself.

All contexts (see `opkit.prove.contexts`) go into one model, which is compiled once under `torch.no_grad` and,
without what does not change with it, once under `torch.inference_mode`. What is judged is what the other
graph stages look at: the operator's tasks in the capture or nodes in the Ascend IR graph, counted; a second
call with other values that neither compiles nor captures; and results and written memory. Only when the one
model fails is it taken apart, to name the context that breaks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from opkit.prove import contexts, eager
from opkit.prove.compare import same_bits
from opkit.prove.compiled import Backend, backend_of
from opkit.prove.contexts import Context, Operator, Refused
from opkit.prove.neighbours import neighbours, teach
from opkit.prove.protocol import StageResult, failed, not_run, proved
from opkit.prove.stages.dynamo import explain
from opkit.prove.subject import Subject, first_line, on_npu, results_of

NAME = "composition"
# The context that is compiled a second time, under `torch.inference_mode`: it owns tensors that were made
# outside of it. Where it cannot be built, the first one that can takes its place.
_AGAIN = contexts.METHOD
# Seeds of the values with which contexts are built, and called twice.
_BUILT, _FIRST, _SECOND = 5, 6, 7


def run(subject: Subject) -> StageResult:
    """Compile the operator in every context at once; on failure find out in which it breaks."""
    op = contexts.operator_of(subject, on_npu(subject.inputs(seed=_BUILT)))
    try:
        results = results_of(op.call(contexts.own_copies(op, op.values)))
    except Exception as error:
        return failed(NAME, f"the eager call raises: {first_line(error)}")
    op = contexts.with_results(op, results)
    if subject.setting.mode == "ge":
        teach(subject)
    others, left_out = neighbours(subject)
    evidence: dict[str, Any] = {}
    model = _build(op, others, evidence)
    problem = _judge_all(model, evidence)
    if problem and others:
        breaking = {name: p for name, other in others.items() if (p := _breaks_alone(model, name, other))}
        left_out |= {name: f"it does not enter by itself: {why}" for name, why in breaking.items()}
        if breaking:
            others = {name: other for name, other in others.items() if name not in breaking}
            model = _build(op, others, evidence)
            problem = _judge_all(model, evidence)
    if left_out:
        evidence["operators left out"] = left_out
    if not model.built:
        return not_run(NAME, f"because no context can be built: {'; '.join(evidence['not built'].values())}")
    return failed(NAME, problem, **evidence) if problem else proved(NAME, **evidence)


@dataclass(frozen=True)
class _Model:
    """The contexts of one operator, and what they should give."""

    op: Operator
    built: list[Context]
    twin: eager.Twin | None
    backend: Backend = field(repr=False)


def _build(op: Operator, others: dict[str, Operator], evidence: dict[str, Any]) -> _Model:
    """Build every context; one in which the eager kernel refuses the call is none."""
    op.given.copy_from(op.subject.inputs(seed=_BUILT))
    built: list[Context] = []
    refused: dict[str, str] = {}
    for context in contexts.contexts(op, others):
        if isinstance(context, Refused):
            refused[context.name] = context.reason
        elif error := eager.refuses(context, op):
            refused[context.name] = f"an eager call raises {error}"
        else:
            built.append(context)
    evidence["contexts"] = [contexts.describe(context) for context in built]
    evidence["not built"] = refused
    twin = eager.twin_of(op, others, _BUILT)
    whose = "the reference on the CPU" if twin is not None else "the same model run eagerly"
    compared = eager.has_values(op.subject)
    evidence["values"] = f"equal to {whose}" if compared else "not compared: they mean nothing here"
    return _Model(op, built, twin, backend_of(op.subject.setting.mode))


def _judge_all(model: _Model, evidence: dict[str, Any]) -> str:
    again = ([context for context in model.built if context.name == _AGAIN] or model.built)[:1]
    for mode, some in (("no_grad", model.built), ("inference_mode", again)):
        seen: dict[str, Any] = {}
        evidence[f"torch.{mode}"] = seen
        problem = _judge(model, some, mode, seen) if some else ""
        if problem:
            return f"under torch.{mode}: {_taken_apart(model, some, mode, problem)}"
    return ""


def _judge(model: _Model, some: list[Context], mode: str, evidence: dict[str, Any]) -> str:
    """Compile some contexts as one model and call it twice; return what is wrong, or ""."""
    import torch

    op, backend = model.op, model.backend
    torch._dynamo.reset()
    with getattr(torch, mode)(), backend.watching():
        compiled = backend.compile(contexts.combined(some))
        try:
            calls = eager.counted(some, op)
            different = _call(model, some, compiled, _FIRST)
            # What is not in the graph is the reason for what is different.
            problem = backend.entered(op, some, calls, evidence) or different
            if problem:
                return problem
            with backend.no_recompile():
                problem = _call(model, some, compiled, _SECOND)
            return problem or backend.replayed(op, evidence)
        except Exception as error:
            return backend.refused() or explain(error)


def _call(model: _Model, some: list[Context], compiled: Any, seed: int) -> str:
    """Call with new values in the same memory and compare with what the contexts should give."""
    op = model.op
    op.given.copy_from(op.subject.inputs(seed=seed))
    want = eager.wanted(some, op, model.twin, seed)
    model.backend.starts(op)
    got, after = eager.run(compiled, some, op)
    model.backend.ended(op)
    wrong = [place for (place, old), new in zip(op.subject.inputs(seed=seed).tensors(), after)
             if not same_bits(old, new) and place[0] not in op.written]  # fmt: skip
    if wrong:
        return f"the call wrote {wrong[0][0]}, which the schema declares as read-only"
    return eager.differs(some, got, want, op)


def _breaks_alone(model: _Model, name: str, other: Operator) -> str:
    """Say why another operator does not enter by itself, if it does not."""
    alone = Context(name, lambda values: contexts.call_alone(other), others=(other,))
    return _judge(model, [alone], "no_grad", {})


def _taken_apart(model: _Model, some: list[Context], mode: str, problem: str) -> str:
    """Name the context that breaks by itself; if none does, it is all of them in one graph."""
    for context in some:
        alone = problem if len(some) == 1 else _judge(model, [context], mode, {})
        if alone:
            where = contexts.describe(context)
            return alone if alone.startswith(where) else f"{where}: {alone}"
    names = ", ".join(context.name for context in some)
    return f"each context enters by itself, all in one graph do not ({names}): {problem}"
