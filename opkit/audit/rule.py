"""An operator's rule as a Python function, from the text that `opkit gen` would write."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from opkit.errors import OpkitError
from opkit.model.expression import Binary, Expression, Name
from opkit.model.operator import OpFile, OpSpec
from opkit.shape import Environment
from opkit.shape.environment import holds, soc_family
from opkit.shape.errors import RuleError


def rule_function(
    spec: OpSpec, op_file: OpFile, namespace: str, environment: Environment
) -> Callable[..., Any]:
    """Make the operator's Meta function; an operator that has no Meta kernel gets it registered.

    Raises OpkitError when the rule is no use, RuntimeError when the operator is registered otherwise.
    """
    from opkit.emit.meta_kernel import Options, prepared
    from opkit.prove.entry import load_function
    from opkit.registration import register

    kernel = prepared(_alone(spec, op_file), Options(namespace, environment))[-1]
    module = register(_alone(spec, op_file), "library", namespace, environment)
    if kernel.rule.python is not None:
        return load_function(kernel.rule.python, op_file.path)
    function: Callable[..., Any] = getattr(module, kernel.function)
    return function


def has_rule(spec: OpSpec) -> bool:
    """Tell whether an entry says of itself what the results are."""
    return spec.meta is not None or spec.gen_opapi is not None


def is_refused(spec: OpSpec, soc: str | None) -> bool:
    """Tell whether torch_npu refuses the operator on this SoC because it has only an aclop kernel.

    The check is in every wrapper that torch_npu 2.13 generates; its first SoC without aclop is Ascend950.
    """
    return bool(spec.acl_op and not spec.op_api and soc and soc_family(soc) == "950")


def is_absent(spec: OpSpec, soc: str) -> bool:
    """Tell whether the entry says that this SoC has no such operator: no kernel, or a requirement of it."""
    requirements = spec.meta.require if spec.meta is not None else ()
    return is_refused(spec, soc) or any(_excludes(item.condition, soc) for item in requirements)


def _excludes(condition: Expression, soc: str) -> bool:
    """Tell whether a condition asks for nothing but the SoC, and for another one."""
    if not (
        isinstance(condition, Binary) and isinstance(condition.left, Name) and condition.left.name == "soc"
    ):
        return False
    try:
        return not holds(
            "soc", condition.operator, condition.right, Environment(soc_version=soc), condition.mark
        )
    except RuleError:
        # The rule is no use, which is what the judgement says.
        return False


def _alone(spec: OpSpec, op_file: OpFile) -> OpFile:
    """The file with this operator only, and without what it inherits from unless it needs it."""
    if spec.gen_opapi is not None and spec.gen_opapi.structured_inherit is not None and spec.meta is None:
        raise OpkitError(
            f"the rule of {spec.name} is inherited", "write it under `meta:` where the host judges it"
        )
    return replace(op_file, operators=(spec,))
