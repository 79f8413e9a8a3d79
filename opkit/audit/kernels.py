"""Inside a worker on the stand-in: which kernels an operator launches.

A SoC that takes no aclop kernels (Ascend950) refuses every call of an operator that has no other, before it
looks at the arguments; a call elsewhere leaves the names of the kernels in the stand-in's journal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from opkit.model.diagnostic import Mark
from opkit.model.operator import Case, OpSpec
from opkit.prove.cases import Candidate, candidates

# torch_npu's generated wrappers, 2.13.
_REFUSAL = "only support aclnn operator"
# What is said before the wrapper's own check is reached.
_EARLY = ("Expected a value of type", "missing value for argument", "Expected all tensors to be on")


def facts(name: str, spec: OpSpec | None, refuses_aclop: bool) -> dict[str, Any]:
    """Call the operator and tell what was launched; `spec` is the shipped rule's, whose cases are used."""
    from opkit.cann.operators import find_operator

    operator = find_operator(name)
    described = spec or _described(operator)
    if described is None:
        return _fact("unknown")
    if refuses_aclop:
        return _fact(_refusal_of(operator, described))
    launched: dict[str, list[str]] = {}
    for case in _cases(described):
        kernels = _launched(operator, described, case)
        if kernels:
            launched[case.name] = kernels
            if spec is None:
                # Made-up arguments: the next ones only stand in for these.
                break
    aclop = [case for case, kernels in launched.items() if any(k.startswith("aclop") for k in kernels)]
    kind = "aclop" if aclop else "aclnn" if launched else "unknown"
    return _fact(
        "partly aclop" if aclop and len(aclop) < len(launched) else kind,
        [kernel for kernels in launched.values() for kernel in kernels],
    )


def _fact(kernel: str, launches: Iterable[str] = ()) -> dict[str, Any]:
    return {"kernel": kernel, "launches": list(dict.fromkeys(launches))}


def _refusal_of(operator: Any, spec: OpSpec) -> str:
    """Tell from how a SoC without aclop kernels answers which kernels there are."""
    for case in _cases(spec):
        error = _call(operator, spec, case)
        if error is not None and _REFUSAL in error:
            return "aclop"
        if error is None or not any(part in error for part in _EARLY):
            return "aclnn"
    return "unknown"


def _launched(operator: Any, spec: OpSpec, case: Case) -> list[str]:
    """List the kernels of a call; none if it is refused."""
    from opkit.cann.device import journal

    journal()
    if _call(operator, spec, case) is not None:
        return []
    return [event.name for event in journal() if event.event in ("launch", "uncomputed")]


def _call(operator: Any, spec: OpSpec, case: Case) -> str | None:
    """Make a call; give the text of its refusal."""
    from opkit.prove.subject import on_npu
    from opkit.prove.values import inputs

    try:
        args, kwargs = on_npu(inputs(spec.schema, case)).call()
        operator(*args, **kwargs)
    except Exception as raised:
        return str(raised)
    return None


def _described(operator: Any) -> OpSpec | None:
    """Make a declaration from what is registered."""
    from opkit.read import parse_schema

    text = str(operator._schema)
    mark = Mark("<registered>", 1, 1, len(text))
    schema, _ = parse_schema(text, mark)
    if schema is None:
        return None
    return OpSpec(schema, "custom", (), (), None, None, None, (), None, None, (), False, mark)


def _cases(spec: OpSpec) -> Iterator[Case]:
    for candidate in candidates(spec):
        if isinstance(candidate, Candidate):
            yield from (case for _, case in candidate.alternatives if not case.raises)
