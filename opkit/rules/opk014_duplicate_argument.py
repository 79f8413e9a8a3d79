"""Two arguments have the same name.

What it does
------------
Reports the second of them, and an argument `input` beside `self` in a custom entry of op-plugin: torch_npu
registers `self` as `input`.

Why it matters
--------------
torch registers such a schema, but no Python Meta kernel can be written for it, and no call can name the
second one.

Example
-------
    func: my_op(Tensor x, Tensor x) -> Tensor

Use instead
-----------
    func: my_op(Tensor x, Tensor y) -> Tensor
"""

from __future__ import annotations

from collections.abc import Iterator

from opkit.model.diagnostic import Diagnostic, Severity
from opkit.model.operator import OpSpec
from opkit.rules.context import Context, finding

CODE = "OPK014"


def check(op: OpSpec, context: Context) -> Iterator[Diagnostic]:
    """Report `input` beside `self`; the reader reports names that are equal as written."""
    input_ = op.schema.argument("input")
    if input_ is not None and op.schema.argument("self") is not None and (op.op_api or op.acl_op):
        message = "two arguments are named `input`: torch_npu registers `self` under that name"
        yield finding(CODE, Severity.ERROR, op, message, input_.mark, "rename `input`")
