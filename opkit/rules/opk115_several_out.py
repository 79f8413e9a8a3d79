"""An `out` variant with several outputs hides what it writes.

What it does
------------
Warns about a custom operator that torch_npu's generator builds and that has more than one `out` argument.

Why it matters
--------------
torch_npu (2.13) registers such an operator with all its `out` arguments gathered in one `Tensor[] out`
without any mark of mutation, and fresh results. A graph may then drop or reorder the writes.

Example
-------
    - func: my_encode.out(Tensor x, *, Tensor(a!) pdf, Tensor(b!) mantissa) -> (Tensor(a!), Tensor(b!))
      op_api: all_version

Use instead
-----------
A mutating operator that is no `out` variant, with a functional one beside it:

    - func: my_encode_(Tensor x, Tensor(a!) pdf, Tensor(b!) mantissa) -> ()
      op_api: all_version
"""

from __future__ import annotations

from collections.abc import Iterator

from opkit.model.diagnostic import Diagnostic, Severity
from opkit.model.operator import OpSpec
from opkit.rules.context import Context, finding, listed

CODE = "OPK115"


def check(op: OpSpec, context: Context) -> Iterator[Diagnostic]:
    """Report operators torch_npu's generator rewrites."""
    out = [a for a in op.schema.arguments if a.kwarg_only and a.is_mutated]
    returned = [r for r in op.schema.returns if r.alias is not None]
    if len(out) > 1 and len(returned) > 1 and (op.op_api or op.acl_op):
        message = (
            f"torch_npu registers {listed([a.name for a in out])} as one list without marking it as written"
        )
        help = "make them positional and drop the overload name `out`"
        yield finding(CODE, Severity.WARNING, op, message, out[0].mark, help)
