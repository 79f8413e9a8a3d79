"""What a small model should give: run by the reference on the CPU where there is one, else eagerly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from opkit.prove import compare, fake, kernels
from opkit.prove.contexts import Context, Operator, combined, contexts, describe, operator_of, with_results
from opkit.prove.operands import flat
from opkit.prove.subject import Subject, first_line, to_cpu


@dataclass(frozen=True)
class Outcome:
    """What a call gave in one context, and what it left in the memory the context owns; CPU copies."""

    results: list[Any]
    state: list[Any]


def run(model: Any, some: list[Context], op: Operator) -> tuple[list[Outcome], list[Any]]:
    """Call a model; give the outcome of each context, and the arguments after the call.

    Written memory is put back, so that another run starts from the same.
    """
    import torch

    tensors = [tensor for _, tensor in op.given.tensors()] + [t for c in some for t in c.state]
    before = [tensor.detach().clone() for tensor in tensors]
    try:
        results = model(op.values)
        outcomes = [
            Outcome([to_cpu(tensor) for tensor in flat(group)], [to_cpu(tensor) for tensor in context.state])
            for context, group in zip(some, results)
        ]
        return outcomes, [to_cpu(tensor) for _, tensor in op.given.tensors()]
    finally:
        with torch.no_grad():
            for tensor, old in zip(tensors, before):
                tensor.copy_(old)


def refuses(context: Context, op: Operator) -> str:
    """Say what an eager call in a context raises, if it does."""
    import torch

    try:
        with torch.no_grad():
            run(combined([context]), [context], op)
    except Exception as error:
        return first_line(error)
    return ""


@contextmanager
def _dispatching(handle: Callable[[Any, Any, Any], Any]) -> Iterator[None]:
    """Send every operator that is called to a function."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Mode(TorchDispatchMode):  # type: ignore[misc, unused-ignore]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return handle(func, args, kwargs or {})

    with Mode():
        yield


def counted(some: list[Context], op: Operator) -> Counter[str]:
    """Count how often contexts call each operator that opkit looks at, by running them eagerly."""
    names = {o.subject.operator: o.subject.name for c in some for o in (op, *c.others)}
    calls: Counter[str] = Counter()

    def count(func: Any, args: Any, kwargs: Any) -> Any:
        if func in names:
            calls[names[func]] += 1
        return func(*args, **kwargs)

    with _dispatching(count):
        run(combined(some), some, op)
    return calls


@dataclass(frozen=True)
class Twin:
    """The same contexts on the CPU, with reference functions in the place of operators."""

    op: Operator
    built: dict[str, Context]

    def run(self, context: Context, seed: int) -> Outcome:
        """Run a context's twin with the values of a seed."""
        self.op.given.copy_from(self.op.subject.inputs(seed=seed))
        references = {o.subject.operator: o.subject.declared.reference for o in (self.op, *context.others)}

        def refer(func: Any, args: Any, kwargs: Any) -> Any:
            return (references.get(func) or func)(*args, **kwargs)

        twin = self.built[context.name]
        with _dispatching(refer):
            return run(combined([twin]), [twin], self.op)[0][0]


def twin_of(op: Operator, others: dict[str, Operator], seed: int) -> Twin | None:
    """Make the twin of a model that was built with the values of `seed`; None without a reference."""
    if op.subject.declared.reference is None or not has_values(op.subject):
        return None
    on_cpu = {name: _on_cpu(o, 0) for name, o in others.items()}
    mine = _on_cpu(op, seed)
    built = {c.name: c for c in contexts(mine, on_cpu) if isinstance(c, Context)}
    return Twin(mine, built)


def _on_cpu(op: Operator, seed: int) -> Operator:
    made = operator_of(op.subject, replace(op.subject.inputs(seed=seed), host=frozenset()))
    return with_results(made, [to_cpu(result) for result in op.results])


def wanted(some: list[Context], op: Operator, twin: Twin | None, seed: int) -> list[Outcome]:
    """Give what each context should have given."""

    def one(context: Context) -> Outcome:
        referenced = all(other.subject.declared.reference is not None for other in context.others)
        if twin is not None and context.name in twin.built and referenced:
            return twin.run(context, seed)
        return run(combined([context]), [context], op)[0][0]

    return [one(context) for context in some]


def has_values(subject: Subject) -> bool:
    """Tell whether what the operator computes can be compared between two calls.

    GE on the stand-in runs reference functions only.
    """
    if subject.random or subject.uncomputed:
        return False
    if subject.setting.mode == "ge":
        return subject.declared.reference is not None and kernels.is_bound(subject)
    return subject.declared.reference is not None or not kernels.is_bound(subject)


def differs(some: list[Context], got: list[Outcome], want: list[Outcome], op: Operator) -> str:
    """Compare results and memory; name the context that differs."""
    for context, mine, theirs in zip(some, got, want):
        problem = _layouts(mine, theirs)
        if not problem and all(has_values(o.subject) for o in (op, *context.others)):
            problem = compare.close("a result", mine.results, theirs.results, "what it should be")
            problem = problem or compare.close(
                "the memory that the model owns", mine.state, theirs.state, "what it should be"
            )
        if problem:
            return f"{describe(context)}: {problem}"
    return ""


def _layouts(mine: Outcome, theirs: Outcome) -> str:
    shapes = [[(t.dtype, tuple(t.shape)) for t in tensors] for tensors in (mine.results, theirs.results)]
    if shapes[0] == shapes[1]:
        return ""
    got, want = (fake.describe(tensors) for tensors in (mine.results, theirs.results))
    return f"the graph gives {got}, expected are {want}"
