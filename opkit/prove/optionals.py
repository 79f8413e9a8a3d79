"""A second look at a converter: optional tensors that no case gives are given, those always given left out.

A converter that drops an optional input builds the right graph as long as every case has None there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from opkit.emit.ge_binding import Binding
from opkit.model.schema import Argument, ListType, OptionalType
from opkit.prove.attributes import converted
from opkit.prove.subject import Subject
from opkit.prove.values import Inputs
from opkit.prove.wiring import Wiring

# The keys of the evidence that name optional inputs of which the cases, and the second look, show one side.
NEVER_GIVEN, NEVER_NONE = "optionals never given", "optionals never None"


def look_at_optionals(subject: Subject, binding: Binding, evidence: dict[str, Any]) -> str:
    """Convert the case with each such optional the other way; return what is wrong, or ""."""
    given = subject.inputs(seed=1)
    full = given.full()
    for _, argument in binding.inputs:
        if argument is None or not argument.is_optional or _is_shown(subject, argument):
            continue
        missing = full[argument.name] is None
        value = _like_the_first(argument, given) if missing else None
        problem, refused = _convert(subject, binding, given, {argument.name: value})
        if problem:
            return f"with {argument.name} {'given' if missing else 'None'}, as in no case: {problem}"
        if refused:
            evidence.setdefault(NEVER_GIVEN if missing else NEVER_NONE, {})[argument.name] = refused
    return ""


def _is_shown(subject: Subject, argument: Argument) -> bool:
    """Tell whether the cases give the argument and leave it out; cases that opkit makes do both."""
    cases = [dict(case.inputs).get(argument.name) is None for case in subject.spec.cases]
    return not cases or len(set(cases)) == 2


def _like_the_first(argument: Argument, given: Inputs) -> Any:
    tensor = next((tensor for _, tensor in given.tensors()), None)
    element = argument.type.element if isinstance(argument.type, OptionalType) else argument.type
    if tensor is None:
        return None
    return [tensor.clone(), tensor.clone()] if isinstance(element, ListType) else tensor.clone()


def _convert(subject: Subject, binding: Binding, given: Inputs, values: dict[str, Any]) -> tuple[str, str]:
    """Convert with these values; give (what is wrong, why there is nothing to judge)."""
    changed = replace(given, values={**given.values, **values})
    if len(list(changed.tensors())) == len(list(given.tensors())):
        return "", "the case has no tensor to take for it"
    graph, trace = converted(subject, changed)
    if isinstance(graph, str):
        return "", graph
    nodes = graph.of_type(binding.prototype.op)
    if len(nodes) != 1:
        return "", f"the converter makes {len(nodes)} {binding.prototype.op} nodes"
    return Wiring(trace, binding, nodes[0], changed, [], compared=True).input_problem(), ""
