"""What the declared rule says about an operator's results, computed apart from the registered Meta kernel."""

from __future__ import annotations

from typing import Any, NamedTuple

from opkit.model.schema import is_tensor_list
from opkit.prove.subject import Declared, first_line
from opkit.prove.values import Inputs
from opkit.shape.evaluation import Result
from opkit.shape.rule import Aliased, Rule, resolve


def missing(declared: Declared) -> str:
    """Say why there is no rule to compare with; empty when there is one."""
    rule = _rule(declared)
    if rule.diagnostics:
        return rule.diagnostics[0].message
    return "" if rule.python is None else "the rule is a Python function, which is the Meta kernel itself"


def untold(declared: Declared) -> str:
    """Say why the rule tells nothing that could be compared; empty when it does."""
    rule = _rule(declared)
    told = rule.require or any(not isinstance(output, Aliased) for output in rule.outputs)
    return missing(declared) or ("" if told else "the rule tells of no new result")


def outputs(declared: Declared, given: Inputs) -> tuple[Result, ...] | str:
    """Evaluate the rule for these sizes, on this machine; a string says why there is none to compare with.

    Raises opkit.shape.evaluation.RequirementFailed when the rule refuses these arguments.
    """
    from opkit.registration.machine import machine_environment
    from opkit.shape.evaluation import apply

    none = missing(declared)
    return none or apply(_rule(declared), given.map(_meta).full(), machine_environment())


def _rule(declared: Declared) -> Rule:
    from opkit.registration.machine import machine_environment

    return resolve(declared.spec, declared.op_file, machine_environment())


class Answer(NamedTuple):
    """What the rule says of some arguments."""

    # None where it refuses, or where there is no rule to compare with.
    results: tuple[Result, ...] | None
    # Why it refuses; empty when it does not.
    refusal: str = ""
    # A `require` refuses them; otherwise they mean nothing to it, e.g. an index past the last dim.
    required: bool = False


def asked(declared: Declared, given: Inputs) -> Answer:
    """Ask the rule about arguments that it may refuse."""
    from opkit.shape.evaluation import RequirementFailed

    try:
        rule = outputs(declared, given)
    except RequirementFailed as error:
        return Answer(None, str(error), required=True)
    except Exception as error:
        return Answer(None, f"it raises {first_line(error)}")
    return Answer(None if isinstance(rule, str) else rule)


def difference(declared: Declared, results: list[Any], rule: tuple[Result, ...]) -> str:
    """Compare the results of a Meta kernel with what the rule says; empty when they agree."""
    returns = declared.spec.schema.returns
    is_list = len(returns) == 1 and is_tensor_list(returns[0].type)
    values = results[0] if is_list else results
    if len(values) != len(rule):
        return f"the Meta kernel gives {len(values)} tensors, the declared rule {len(rule)}"
    for index, (value, wanted) in enumerate(zip(values, rule)):
        if wanted.argument is not None:
            continue
        got, said = _text(value), _text(wanted if wanted.shape is not None else None)
        if got != said:
            return f"result {index} is {got}, the declared rule says {said}"
    return ""


def _text(result: Any) -> str:
    """Describe a tensor, or what a rule says about one."""
    return "None" if result is None else f"{str(result.dtype).removeprefix('torch.')}{list(result.shape)}"


def _meta(tensor: Any) -> Any:
    import torch

    return torch.empty_strided(tuple(tensor.shape), tuple(tensor.stride()), dtype=tensor.dtype, device="meta")
