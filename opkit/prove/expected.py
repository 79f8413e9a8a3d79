"""What the declared rule says about an operator's results, computed apart from the registered Meta kernel."""

from __future__ import annotations

from typing import Any

from opkit.prove.subject import Declared
from opkit.prove.values import Inputs

# One entry per result: shape and dtype, or None where the rule describes no new tensor.
Results = list["tuple[list[Any], Any] | None"]


def outputs(declared: Declared, given: Inputs) -> Results | str:
    """Evaluate the rule for these sizes; a string says why there is no rule to compare with.

    Raises opkit.shape.evaluation.RequirementFailed when the rule refuses these arguments.
    """
    from opkit.shape.evaluation import apply
    from opkit.shape.rule import resolve

    rule = resolve(declared.spec, declared.op_file)
    if rule.diagnostics:
        return rule.diagnostics[0].message
    if rule.python is not None:
        return "the rule is a Python function, which is the Meta kernel itself"
    found = apply(rule, given.map(_meta).full())
    return [None if r.shape is None else (list(r.shape), r.dtype) for r in found]


def _meta(tensor: Any) -> Any:
    import torch

    return torch.empty_strided(tuple(tensor.shape), tuple(tensor.stride()), dtype=tensor.dtype, device="meta")
