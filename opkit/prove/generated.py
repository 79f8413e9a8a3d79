"""Cases around a declared one, drawn by hypothesis: other sizes, dtypes, optionals and host values.

Only what a declaration leaves open is drawn, so that a call that both sides accept is one they must agree on:
named dims and dtypes, optional arguments, flags, and numbers that are no larger than the declared ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from opkit.model.operator import Case, CaseValue, TensorSpec
from opkit.model.schema import Argument, OperatorSchema, base_of

# The largest size that is drawn for a named dim.
LARGEST = 24


class Disagreement(Exception):
    """A case on which two sides do not agree; hypothesis makes it smaller."""

    def __init__(self, problem: str, case: Case) -> None:
        super().__init__(problem)
        self.problem, self.case = problem, case


def edges(case: Case) -> list[Case]:
    """List what is always tried: every named dim 1, and every named dim 0."""
    return [_with_sizes(case, {name: size for name, _ in case.dims}) for size in (1, 0)] if case.dims else []


def search(
    schema: OperatorSchema, case: Case, seed: int, examples: int, problem: Callable[[Case], str]
) -> tuple[str, Case] | None:
    """Draw cases; give the smallest for which `problem` says something, with what it says.

    Needs hypothesis.
    """
    import hypothesis
    from hypothesis import HealthCheck, Phase, given, settings

    @hypothesis.seed(seed)
    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
        report_multiple_bugs=False,
        print_blob=False,
    )
    @given(_cases(schema, case))
    def look(drawn: Case) -> None:
        text = problem(drawn)
        if text:
            raise Disagreement(text, drawn)

    try:
        look()
    except Disagreement as found:
        return found.problem, found.case
    return None


def _cases(schema: OperatorSchema, case: Case) -> Any:
    from hypothesis import strategies as st

    dims = {
        name: st.one_of(st.integers(2, LARGEST), st.sampled_from(sorted(set(sizes))))
        for name, sizes in case.dims
    }
    dtypes = {name: st.sampled_from(names) for name, names in case.dtypes}
    values = {name: st.sampled_from(_values(schema.argument(name), value)) for name, value in case.inputs}

    def made(sizes: dict[str, int], names: dict[str, str], inputs: dict[str, CaseValue]) -> Case:
        drawn = replace(
            case,
            inputs=tuple(inputs.items()),
            dtypes=tuple((name, (dtype,)) for name, dtype in names.items()),
        )
        return _with_sizes(drawn, sizes)

    parts = (st.fixed_dictionaries(drawn) for drawn in (dims, dtypes, values))
    return st.builds(made, *parts)


def _with_sizes(case: Case, sizes: dict[str, int]) -> Case:
    return replace(case, dims=tuple((name, (size,)) for name, size in sizes.items()))


def _values(argument: Argument | None, value: CaseValue) -> list[CaseValue]:
    """List the values of an argument that are drawn, the simplest first: hypothesis shrinks towards it."""
    if argument is None or isinstance(value, (tuple, str)):
        return [value]
    found: list[CaseValue] = [value]
    if isinstance(value, TensorSpec) or value is None:
        found += [None] if argument.is_optional and value is not None else []
    elif isinstance(value, bool):
        found.append(not value)
    elif isinstance(value, int) and base_of(argument.type).name in ("int", "SymInt"):
        found += [value - 1] if value > 2 else []
    elif isinstance(value, float):
        found.append(value / 2)
    return found
