"""A second look at a converter: the same case with every host value changed.

One value alone would let a converter pass that has that very value written in it, and one that swaps two
attributes passes where both are equal: every value and every item of a list changes by an amount of its own.
Only the graph is judged: it is not run, since nobody knows whether the operator makes sense with a changed
value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, count
from typing import Any

from opkit.cann.ge_graph import GeGraph
from opkit.emit.ge_binding import Binding
from opkit.model.schema import Argument, ListType, OptionalType, Type, base_of
from opkit.prove import ge_trace
from opkit.prove.stages.dynamo import explain
from opkit.prove.subject import Subject, on_npu
from opkit.prove.values import Inputs
from opkit.prove.wiring import Wiring

# The key of the evidence that names attributes for which no second value could be converted.
ONE_VALUE = "attributes seen with one value"


def look_again(subject: Subject, binding: Binding, evidence: dict[str, Any]) -> str:
    """Convert the case again with other attributes; return what is wrong with them, or ""."""
    given = subject.inputs(seed=1)
    arguments = [argument for _, argument in binding.attributes]
    full, slots = given.full(), count(1)
    changes = {a.name: list(others(a, full[a.name], slots)) for a in arguments}
    together = {name: values[0] for name, values in changes.items() if values}
    if not together:
        return ""
    problem, refused = _convert(subject, binding, given, together)
    if refused:
        # Some value is not allowed: each attribute alone, then.
        problem, left = _one_by_one(subject, binding, given, changes)
        if left:
            evidence[ONE_VALUE] = left
        return problem
    flags = {a.name: full[a.name] for a in arguments if isinstance(full[a.name], bool)}
    return problem or _apart(subject, binding, given, flags, evidence)


def _apart(
    subject: Subject, binding: Binding, given: Inputs, flags: dict[str, bool], evidence: dict[str, Any]
) -> str:
    """Convert so often that any two flags differ once; a flag has no third value that is its own."""
    if all(one != other for one, other in combinations(flags.values(), 2)):
        return ""
    for bit in range((len(flags) - 1).bit_length()):
        values = {name: bool(number >> bit & 1) for number, name in enumerate(flags)}
        problem, refused = _convert(subject, binding, given, values)
        if refused:
            changes = {name: [not value] for name, value in flags.items()}
            problem, left = _one_by_one(subject, binding, given, changes)
            if left:
                evidence["flags not told apart"] = left
            return problem
        if problem:
            return problem
    return ""


def _one_by_one(
    subject: Subject, binding: Binding, given: Inputs, changes: dict[str, list[Any]]
) -> tuple[str, dict[str, str]]:
    left: dict[str, str] = {}
    for name, values in changes.items():
        for value in values:
            problem, refused = _convert(subject, binding, given, {name: value})
            if problem:
                return problem, left
            if not refused:
                left.pop(name, None)
                break
            left[name] = f"{value!r} is refused: {refused}"
    return "", left


def _convert(subject: Subject, binding: Binding, given: Inputs, values: dict[str, Any]) -> tuple[str, str]:
    """Convert with these values; give (what is wrong, why the values are refused)."""
    changed = replace(given, values={**given.values, **values})
    graph, trace = converted(subject, changed)
    if isinstance(graph, str):
        return "", graph
    nodes = graph.of_type(binding.prototype.op)
    if len(nodes) != 1:
        return "", f"the converter makes {len(nodes)} {binding.prototype.op} nodes"
    problem = Wiring(trace, binding, nodes[0], changed, []).attribute_problem()
    shown = ", ".join(f"{name}={value!r}" for name, value in values.items())
    return (f"the case was converted again with {shown}: {problem}" if problem else ""), ""


def converted(subject: Subject, given: Inputs) -> tuple[GeGraph | str, ge_trace.Trace]:
    """Give the graph that would be loaded into GE, or why there is none."""
    import torch

    torch._dynamo.reset()
    args, kwargs = subject.arguments(on_npu(given))
    with ge_trace.Recorder(only_convert=True) as recorder:
        compiled = torch.compile(subject.model(), backend=recorder.backend(), fullgraph=True, dynamic=False)
        try:
            compiled(*args, **kwargs)
        except Exception as error:
            if not recorder.trace.graphs:
                return explain(error), recorder.trace
    if not recorder.trace.graphs:
        return "no graph was loaded into GE", recorder.trace
    return recorder.trace.graphs[0], recorder.trace


def others(argument: Argument, value: Any, slots: Iterator[int]) -> Iterator[Any]:
    """List other values of an argument, the likeliest to tell most first; every value takes a slot."""
    yield from _other_values(argument.type, base_of(argument.type).name, value, slots)


def _other_values(type_: Type, base: str, value: Any, slots: Iterator[int]) -> Iterator[Any]:
    import torch

    if value is None:
        element = type_.element if isinstance(type_, OptionalType) else type_
        made = _FIRST.get(base)
        if made is not None:
            yield [made] * 2 if isinstance(element, ListType) else made
    elif isinstance(value, (list, tuple)):
        choices = [list(_other_values(type_, base, item, slots)) for item in value]
        yield from ([c[i] for c in choices] for i in range(min(map(len, choices), default=0)))
        yield from ([*value[:i], c[-1], *value[i + 1 :]] for i, c in enumerate(choices) if c)
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (value + next(slots), value + 1, value - 1, value * 2)
    elif isinstance(value, float):
        yield from (value * 1.5 + 0.25 * next(slots), value * 1.5 + 0.25, value / 2)
    elif isinstance(value, str):
        yield value + "x" * next(slots)
    elif isinstance(value, torch.dtype):
        others = [dtype for dtype in _dtypes() if dtype is not value]
        slot = next(slots)
        yield from (others[(slot + i) % len(others)] for i in range(len(others)))


def _dtypes() -> list[Any]:
    import torch

    return [torch.float32, torch.bfloat16, torch.float16, torch.int32, torch.int64]


_FIRST = {"int": 3, "SymInt": 3, "float": 1.25, "Scalar": 1.25, "bool": True, "str": "x"}
