"""Inside a worker on the stand-in: which kernels an operator launches.

A SoC that takes no aclop kernels (Ascend950) refuses every call of an operator that has no other, before it
looks at the arguments; a call elsewhere leaves the names of the kernels in the stand-in's journal.
"""

from __future__ import annotations

from collections.abc import Iterator
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
    from opkit.cann.device import journal
    from opkit.cann.operators import find_operator
    from opkit.prove.subject import on_npu
    from opkit.prove.values import inputs

    operator = find_operator(name)
    described = spec or _described(operator)
    error = "no arguments could be made for it"
    for case in _cases(described) if described is not None else ():
        try:
            given = on_npu(inputs(described.schema, case)) if described is not None else None
            assert given is not None
            journal()
            args, kwargs = given.call()
            operator(*args, **kwargs)
        except Exception as raised:
            error = str(raised)
            if _REFUSAL in error:
                return {"kernel": "aclop", "launches": []}
            if refuses_aclop and not any(part in error for part in _EARLY):
                return {"kernel": "aclnn", "launches": []}
            continue
        if refuses_aclop:
            return {"kernel": "aclnn", "launches": []}
        launched = list(dict.fromkeys(e.name for e in journal() if e.event in ("launch", "uncomputed")))
        kind = "aclop" if any(n.startswith("aclop") for n in launched) else "aclnn" if launched else "unknown"
        return {"kernel": kind, "launches": launched}
    return {"kernel": "unknown", "launches": []}


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
