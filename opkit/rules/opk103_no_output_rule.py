"""Nothing says what the results look like.

What it does
------------
Notes a custom operator that returns fresh values and has neither `gen_opapi` sizes nor a `meta` rule.

Why it matters
--------------
Tracing a graph runs the operator's Meta kernel, which computes shapes and dtypes only. Without a rule opkit
cannot write one, and without one the operator cannot enter any graph. (A Meta kernel written by hand
elsewhere is just as good; this check cannot see it.)

Example
-------
    - func: my_op(Tensor x) -> Tensor
      op_api: all_version

Use instead
-----------
    - func: my_op(Tensor x) -> Tensor
      op_api: all_version
      meta:
        out: {size: x.shape, dtype: x.dtype}
"""

from __future__ import annotations

from collections.abc import Iterator

from opkit.model.diagnostic import Diagnostic, Severity
from opkit.model.operator import OpSpec
from opkit.rules.context import Context, finding

CODE = "OPK103"


def check(op: OpSpec, context: Context) -> Iterator[Diagnostic]:
    """Note an operator without a rule; results that are arguments need none."""
    fresh = next((r for r in op.schema.returns if r.alias is None), None)
    if fresh is None or op.meta is not None:
        return
    rule = op.gen_opapi
    if rule is not None and (rule.outputs or rule.structured_inherit):
        return
    message = f"no rule gives the results of {op.name}, so opkit cannot write its Meta kernel"
    help = "add meta: {out: {size: ..., dtype: ...}}"
    yield finding(CODE, Severity.NOTE, op, message, fresh.mark, help)
