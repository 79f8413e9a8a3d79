"""op-plugin's two stages disagree about the versions of a structured operator.

What it does
------------
Warns about a `gen_opapi` entry whose `op_api` ends before the newest version of the file, or is a text such
as `v2.10`, which has `v2.1` in it; and about one that has an `acl_op` and no `op_api`.

Why it matters
--------------
op-plugin's second stage ignores the upper bound of a range, and looks for the version anywhere in a text. For
a torch version that only it takes the first stage has left the operator out, and the build stops with "could
not find ATen function for schema". Without `op_api` it stops with "has no op_opi implement".

Example
-------
    - func: my_op(Tensor x) -> Tensor
      op_api: [v2.1, v2.12]
      gen_opapi:
        out: {size: x, dtype: x}
        exec: aclnnMyOp

Use instead
-----------
    - func: my_op(Tensor x) -> Tensor
      op_api: [v2.1, newest]
      gen_opapi:
        out: {size: x, dtype: x}
        exec: aclnnMyOp
"""

from __future__ import annotations

from collections.abc import Iterator

from opkit.model.diagnostic import Diagnostic, Severity
from opkit.model.operator import OpSpec
from opkit.rules.context import Context, extra, finding

CODE = "OPK117"


def check(op: OpSpec, context: Context) -> Iterator[Diagnostic]:
    """Report a range with an upper bound."""
    if op.gen_opapi is None or op.section not in ("official", "custom"):
        return
    versions = context.op_file.all_versions
    written = extra(op, "op_api")
    if op.acl_op and not op.op_api and written is None:
        message = "op-plugin makes an aclnn kernel from `gen_opapi`, and the entry has no `op_api`"
        yield finding(CODE, Severity.WARNING, op, message, op.gen_opapi.mark, "add op_api: all_version")
    elif isinstance(written, str) and op.op_api:
        taken = [v for v in versions if v not in op.op_api and v in written]
        if taken:
            message = f"op-plugin's second stage takes `{written}` for {taken[0]} as well"
            help = f"write a range, e.g. [{op.op_api[0]}, newest]"
            yield finding(CODE, Severity.WARNING, op, message, op.gen_opapi.mark, help)
    elif isinstance(written, list) and op.op_api and versions and op.op_api[-1] != versions[-1]:
        message = f"op-plugin ignores the end of the range [{written[0]}, {op.op_api[-1]}] for `gen_opapi`"
        help = f"write [{written[0]}, newest]"
        yield finding(CODE, Severity.WARNING, op, message, op.gen_opapi.mark, help)
