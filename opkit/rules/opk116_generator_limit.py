"""op-plugin's generator crashes on the entry.

What it does
------------
Reports a `gen_opapi` entry with a shape of schema that op-plugin's structured generator has no code for: a
result `Tensor[]`, an argument `Tensor?[]`, or no tensor argument at all; and a rule that is inherited in a
way it cannot follow: a target that inherits itself, or one that another functional operator has inherited
already.

Why it matters
--------------
The build stops with an AttributeError or IndexError that names neither the operator nor the reason; for
inheritance, with "gen_opapi has no exec configuration" for an operator that has one.

Example
-------
    - func: my_split(Tensor x) -> Tensor[]
      gen_opapi:
        out: {size: x, dtype: x}
        exec: aclnnMySplit

Use instead
-----------
Write the kernel's C++ by hand and give opkit the rule under `meta`:

    - func: my_split(Tensor x) -> Tensor[]
      meta: {python: "my_package.meta:my_split"}
"""

from __future__ import annotations

from collections.abc import Iterator

from opkit.model.diagnostic import Diagnostic, Severity
from opkit.model.operator import OpSpec
from opkit.model.schema import BaseType, ListType, OptionalType, is_tensor_like
from opkit.rules.context import Context, finding, has_tensor_argument

CODE = "OPK116"

_OPTIONAL_TENSORS = ListType(OptionalType(BaseType("Tensor")))


def check(op: OpSpec, context: Context) -> Iterator[Diagnostic]:
    """Report what the generator cannot take."""
    rule = op.gen_opapi
    if rule is None:
        return
    help = "write the kernel by hand and give opkit the rule under meta:"
    for result in op.schema.returns:
        if isinstance(result.type, ListType) and is_tensor_like(result.type):
            message = "op-plugin's generator cannot make a result Tensor[]"
            yield finding(CODE, Severity.ERROR, op, message, result.mark, help)
    for argument in op.schema.arguments:
        if argument.type == _OPTIONAL_TENSORS:
            message = "op-plugin's generator cannot take an argument Tensor?[]"
            yield finding(CODE, Severity.ERROR, op, message, argument.mark, help)
    if not has_tensor_argument(op):
        message = "op-plugin's generator takes the device from a tensor argument, and there is none"
        yield finding(CODE, Severity.ERROR, op, message, rule.mark, help)
    yield from _inheritance(op, context)


def _inheritance(op: OpSpec, context: Context) -> Iterator[Diagnostic]:
    """Report a target that is used up: op-plugin empties the rule it hands to a functional operator."""
    rule = op.gen_opapi
    if rule is None or rule.structured_inherit is None or op.schema.mutated:
        return
    target = context.op_file.operator(rule.structured_inherit)
    if target is None or target.gen_opapi is None:
        return
    if target.gen_opapi.structured_inherit is not None:
        message = f"`{target.name}` inherits its own rule; op-plugin does not follow that"
        help = f"inherit from {target.gen_opapi.structured_inherit}"
        yield finding(CODE, Severity.ERROR, op, message, rule.mark, help)
        return
    for other in context.inherited[target.name]:
        if other is op:
            return
        if set(other.op_api) & set(op.op_api) or not op.op_api:
            message = (
                f"`{other.name}` inherits from `{target.name}` already; op-plugin lets one operator do so"
            )
            related = (("the other operator", other.mark),)
            yield finding(CODE, Severity.ERROR, op, message, rule.mark, "repeat the rule", related)
            return
