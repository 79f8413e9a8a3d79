"""The calls made of one case: as written, and with one thing changed at a time."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

from opkit.model.expression import Binary, Expression, Literal, Name, Sequence
from opkit.model.operator import Case, CaseValue, OpSpec, TensorSpec
from opkit.model.schema import Argument, BaseType, ListType, OptionalType

# More combinations of named dtypes than this are not all tried: each dtype is, once.
_MOST_COMBINATIONS = 16


@dataclass(frozen=True)
class Variation:
    """One call: a case, which of its sizes, and how its tensors lie in memory."""

    name: str
    case: Case
    size: int = 0
    strided: bool = False


def variations(spec: OpSpec) -> Iterator[Variation]:
    """List the calls that are made of an operator's cases."""
    for case in spec.cases:
        yield Variation(case.name, case)
        yield from _sizes(case)
        yield from _dtypes(case)
        if any(len(tensor.dims) > 1 and not tensor.values for tensor in _tensors(case)):
            yield Variation(f"{case.name}, not contiguous", case, strided=True)
        given = dict(case.inputs)
        for argument in spec.schema.arguments:
            for text, value in (*_others(argument, given), *_documented(spec, argument, given)):
                yield Variation(f"{case.name}, {argument.name}={text}", _with(spec, case, argument, value))


def empties(spec: OpSpec) -> Iterator[Variation]:
    """List the calls with one named dim of size 0, which most kernels do not say whether they take."""
    for case in spec.cases:
        for name, sizes in case.dims:
            if not case.raises and 0 not in sizes:
                first = tuple((other, (0,) if other == name else taken[:1]) for other, taken in case.dims)
                yield Variation(f"{case.name}, {name}=0", replace(case, dims=first))


def _sizes(case: Case) -> Iterator[Variation]:
    for index in range(1, max((len(sizes) for _, sizes in case.dims), default=1)):
        chosen = [f"{name}={sizes[min(index, len(sizes) - 1)]}" for name, sizes in case.dims]
        yield Variation(f"{case.name}, {', '.join(chosen)}", case, index)


def _dtypes(case: Case) -> Iterator[Variation]:
    names = [name for name, _ in case.dtypes]
    combinations = list(itertools.product(*(dtypes for _, dtypes in case.dtypes)))
    if len(combinations) > _MOST_COMBINATIONS:
        first = [dtypes[0] for _, dtypes in case.dtypes]
        combinations = [tuple(first)] + [
            (*first[:i], dtype, *first[i + 1 :])
            for i, (_, dtypes) in enumerate(case.dtypes)
            for dtype in dtypes[1:]
        ]
    # The first is the case as written.
    for chosen in combinations[1:]:
        bound = tuple((name, (dtype,)) for name, dtype in zip(names, chosen))
        text = ", ".join(f"{name}={dtype}" for name, dtype in zip(names, chosen))
        yield Variation(f"{case.name}, {text}", replace(case, dtypes=bound))


def _others(argument: Argument, given: dict[str, CaseValue]) -> Iterator[tuple[str, CaseValue]]:
    """List other values of an argument: None for an optional one, the opposite of each flag."""
    value = given.get(argument.name, argument.default.value if argument.default else None)
    if isinstance(argument.type, OptionalType) and value is not None:
        yield "None", None
    if isinstance(value, bool) and argument.type == BaseType("bool"):
        yield str(not value), not value
    if isinstance(argument.type, ListType) and argument.type.element == BaseType("bool"):
        items = value if isinstance(value, tuple) else ()
        for index, item in enumerate(items):
            flipped = (*items[:index], not item, *items[index + 1 :])
            yield str(list(flipped)), flipped


def _documented(
    spec: OpSpec, argument: Argument, given: dict[str, CaseValue]
) -> Iterator[tuple[str, CaseValue]]:
    """List the other values that a requirement of the rule allows: `mode in ["none", "tanh"]`."""
    requirements = spec.meta.require if spec.meta is not None else ()
    value = given.get(argument.name, argument.default.value if argument.default else None)
    for requirement in requirements:
        for allowed in _allowed(requirement.condition, argument.name):
            if allowed != value:
                yield repr(allowed), allowed


def _allowed(condition: Expression, name: str) -> Iterator[str | int]:
    """List the literals of `name in [...]`, on its own or joined with others."""
    if not isinstance(condition, Binary):
        return
    if condition.operator in ("and", "or"):
        yield from _allowed(condition.left, name)
        yield from _allowed(condition.right, name)
    named = isinstance(condition.left, Name) and condition.left.name == name
    if named and condition.operator == "in" and isinstance(condition.right, Sequence):
        for item in condition.right.items:
            if isinstance(item, Literal) and isinstance(item.value, (str, int)):
                yield item.value


def _with(spec: OpSpec, case: Case, argument: Argument, value: CaseValue) -> Case:
    values = {**dict(case.inputs), argument.name: value}
    ordered = tuple((a.name, values[a.name]) for a in spec.schema.arguments if a.name in values)
    return replace(case, inputs=ordered)


def _tensors(case: Case) -> Iterator[TensorSpec]:
    for _, value in case.inputs:
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, TensorSpec):
                yield item
