"""The default is None, the type is not optional.

What it does
------------
Warns about an argument of a custom operator with the default None and a type without `?`.

Why it matters
--------------
torch accepts such a schema. Calling the operator with its default then fails in the dispatcher or hands the
kernel an undefined value.

Example
-------
    - func: my_op(Tensor x, int axis=None) -> Tensor

Use instead
-----------
    - func: my_op(Tensor x, int? axis=None) -> Tensor
"""

from __future__ import annotations

from collections.abc import Iterator

from opkit.model.diagnostic import Diagnostic, Severity
from opkit.model.operator import OpSpec
from opkit.rules.context import Context, finding

CODE = "OPK111"


def check(op: OpSpec, context: Context) -> Iterator[Diagnostic]:
    """Report each such argument."""
    for argument in op.schema.arguments:
        if argument.default is not None and argument.default.value is None and not argument.is_optional:
            message = f"`{argument.name}` has the default None, but its type is {argument.type}"
            help = f"write {argument.type}? {argument.name}=None"
            yield finding(CODE, Severity.WARNING, op, message, argument.mark, help)
