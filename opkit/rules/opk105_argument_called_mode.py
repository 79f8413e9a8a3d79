"""A mutating operator has an argument called `mode`.

What it does
------------
Reports a custom operator that writes an argument and has an argument of any type named `mode`.

Why it matters
--------------
In a graph torch calls a mutating operator through `auto_functionalized_v2` and passes all arguments by name.
Inside torch (2.13) that name meets a parameter `mode` of its own, and compiling stops with "TypeError:
redirect_to_mode.<locals>.impl() got multiple values for argument 'mode'". The operator works in eager.

Example
-------
    - func: my_scatter(Tensor(a!) cache, Tensor value, *, str mode="update") -> ()

Use instead
-----------
Any other name:

    - func: my_scatter(Tensor(a!) cache, Tensor value, *, str scatter_mode="update") -> ()
"""

from __future__ import annotations

from collections.abc import Iterator

from opkit.model.diagnostic import Diagnostic, Severity
from opkit.model.operator import OpSpec
from opkit.rules.context import Context, finding

CODE = "OPK105"


def check(op: OpSpec, context: Context) -> Iterator[Diagnostic]:
    """Report the argument."""
    argument = op.schema.argument("mode")
    if argument is not None and op.schema.mutated:
        message = f"torch cannot functionalize `{op.schema.name}`: it has an argument called `mode`"
        yield finding(CODE, Severity.ERROR, op, message, argument.mark, "rename it, e.g. to `update_mode`")
