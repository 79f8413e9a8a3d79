"""Stage schema: the dispatcher knows the operator, with exactly the schema that the YAML declares."""

from __future__ import annotations

import re

from opkit.model.schema import OperatorSchema
from opkit.prove.protocol import StageResult, failed, proved
from opkit.prove.subject import Subject, first_line
from opkit.prove.watch import is_defined

NAME = "schema"


def run(subject: Subject) -> StageResult:
    """Compare the registered schema with the declared one; refuse results that are arguments."""
    import torch

    if subject.declared.problem:
        return failed(NAME, subject.declared.problem)
    if not is_defined(subject.name):
        return failed(NAME, f"the dispatcher knows no operator {subject.name}: nothing defined it")
    base, _, overload = subject.name.partition(".")
    namespace, _, short = base.partition("::")
    subject.operator = getattr(getattr(getattr(torch.ops, namespace), short), overload or "default")
    registered = subject.operator._schema
    declared = f"{subject.name}{subject.spec.schema.signature()}"
    try:
        expected = torch._C.parse_schema(declared)
    except RuntimeError as error:
        return failed(NAME, f"the dispatcher refuses {declared}: {first_line(error)}")
    if _comparable(expected) != _comparable(registered):
        return failed(NAME, f"registered as {registered}, declared as {expected}", registered=str(registered))
    returned = aliased_returns(subject.spec.schema)
    if returned:
        return failed(
            NAME,
            f"result {returned[0][0]} is the argument `{returned[0][1]}` itself: functionalization refuses "
            "custom operators whose results alias arguments; return `()` or fresh tensors only",
            registered=str(registered),
        )
    return proved(NAME, registered=str(registered))


def _comparable(schema: object) -> str:
    """Print a schema for comparison: text tells SymInt from int, which the parsed types do not."""
    # torch_npu registers an argument `self` as `input`, and both are only ever passed by position.
    return re.sub(r"\bself\b(?=[,)])", "input", str(schema))


def aliased_returns(schema: OperatorSchema) -> list[tuple[int, str]]:
    """List the results that carry an alias annotation: (position, name of the argument it stands for)."""
    found = []
    for index, result in enumerate(schema.returns):
        if result.alias is None:
            continue
        owners = [
            a.name for a in schema.arguments if a.alias and set(a.alias.before) & set(result.alias.before)
        ]
        found.append((index, owners[0] if owners else str(result.alias)))
    return found
