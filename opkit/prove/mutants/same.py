"""Shows that a mutant is none: its Meta kernel gives what the unmutated one gives, call after call."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from opkit.cann.operators import find_operator
from opkit.prove import fake
from opkit.prove.apart import variations
from opkit.prove.mutants.bench import cases
from opkit.prove.subject import Declared, on_npu
from opkit.prove.values import Inputs, inputs, sizes


def evidence(one: Declared, two: Declared) -> str:
    """Say how many calls were compared; empty when a call tells the two apart."""
    first, second = find_operator(one.qualified), find_operator(two.qualified)
    if str(first._schema).partition("(")[2] != str(second._schema).partition("(")[2]:
        return ""
    compared = 0
    for candidate in cases(one.spec):
        case = candidate.alternatives[0][1]
        sets = [on_npu(inputs(one.spec.schema, case, size)) for size in range(sizes(case))]
        given = [*sets, *(on_npu(inputs(one.spec.schema, v)) for _, v in variations(one.spec.schema, case))]
        for item in given:
            compared += 1
            if _outcome(first, item) != _outcome(second, item):
                return ""
        if _symbolic(first, case, sets) != _symbolic(second, case, sets):
            return ""
    return f"the Meta kernel gives the same in {compared} calls of other sizes, dtypes and host values"


def _outcome(operator: Any, given: Inputs) -> object:
    try:
        call = fake.call(operator, replace(given))
    except Exception as error:
        return type(error).__name__
    return fake.describe(call.results), call.changed, call.aliases, _shared(call.results)


def _shared(results: list[Any]) -> list[tuple[int, int]]:
    import torch

    tensors = [(i, r) for i, r in enumerate(results) if isinstance(r, torch.Tensor)]
    return [(i, j) for i, r in tensors for j, s in tensors if i < j and torch._C._is_alias_of(r, s)]


def _symbolic(operator: Any, case: Any, sets: list[Inputs]) -> object:
    try:
        found = fake.probe(operator, case, sets, lambda given: "not asked for")
    except Exception as error:
        return type(error).__name__
    return found.outputs, found.specialised, found.guards, found.broken, found.unbacked
