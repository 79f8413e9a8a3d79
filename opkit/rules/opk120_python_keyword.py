"""torch passes an argument by a name that Python reserves.

What it does
------------
Reports a custom operator with a keyword-only argument that is named like a word of Python (`lambda`, `from`),
and a mutating operator with any argument of such a name.

Why it matters
--------------
torch writes graphs as Python text and compiles it. There keyword-only arguments are passed by name, and so
are all arguments of a mutating operator: `npu.my_op(x, lambda = 3)` is no Python, and compiling stops with
"SyntaxError: invalid syntax". The operator works in eager. A positional argument of another operator is
passed without its name.

Example
-------
    - func: shrink(Tensor x, *, float lambda=0.5) -> Tensor

Use instead
-----------
Any other name:

    - func: shrink(Tensor x, *, float lambd=0.5) -> Tensor
"""

from __future__ import annotations

import keyword
from collections.abc import Iterator

from opkit.model.diagnostic import Diagnostic, Severity
from opkit.model.operator import OpSpec
from opkit.rules.context import Context, finding

CODE = "OPK120"


def check(op: OpSpec, context: Context) -> Iterator[Diagnostic]:
    """Report each argument that a graph passes by name."""
    by_name = op.schema.arguments if op.schema.mutated else op.schema.keyword_only
    for argument in by_name:
        if keyword.iskeyword(argument.name):
            message = f"`{argument.name}` is a word of Python, and torch cannot pass it by name in a graph"
            yield finding(
                CODE, Severity.ERROR, op, message, argument.mark, f"rename it, e.g. to `{argument.name}_`"
            )
