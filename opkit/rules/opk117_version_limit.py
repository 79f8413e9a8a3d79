"""op-plugin's two stages disagree about the versions of a structured operator.

What it does
------------
Warns about a `gen_opapi` entry whose `op_api` ends before the newest version of the file.

Why it matters
--------------
op-plugin's second stage ignores the upper bound of a range. For a torch version beyond it the first stage has
left the operator out, and the build stops with "could not find ATen function for schema".

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
    versions = context.op_file.all_versions
    written = extra(op, "op_api")
    if op.gen_opapi is None or not op.op_api or not versions or not isinstance(written, list):
        return
    if op.op_api[-1] != versions[-1]:
        message = f"op-plugin ignores the end of the range [{written[0]}, {op.op_api[-1]}] for `gen_opapi`"
        help = f"write [{written[0]}, newest]"
        yield finding(CODE, Severity.WARNING, op, message, op.gen_opapi.mark, help)
