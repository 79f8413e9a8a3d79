"""What the declared rule says about an operator's results, computed apart from the registered Meta kernel."""

from __future__ import annotations

from typing import Any

from opkit.prove.subject import Declared
from opkit.prove.values import Inputs
from opkit.shape.evaluation import Result


def outputs(declared: Declared, given: Inputs) -> tuple[Result, ...] | str:
    """Evaluate the rule for these sizes, on this machine; a string says why there is none to compare with.

    Raises opkit.shape.evaluation.RequirementFailed when the rule refuses these arguments.
    """
    from opkit.registration.machine import machine_environment
    from opkit.shape.evaluation import apply
    from opkit.shape.rule import resolve

    rule = resolve(declared.spec, declared.op_file, machine_environment())
    if rule.diagnostics:
        return rule.diagnostics[0].message
    if rule.python is not None:
        return "the rule is a Python function, which is the Meta kernel itself"
    return apply(rule, given.map(_meta).full(), machine_environment())


def _meta(tensor: Any) -> Any:
    import torch

    return torch.empty_strided(tuple(tensor.shape), tuple(tensor.stride()), dtype=tensor.dtype, device="meta")
