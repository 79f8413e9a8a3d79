"""The operator has no aclnn kernel.

What it does
------------
Warns about a custom operator that has `acl_op` but not `op_api` for the torch version asked for (for any
version if none is asked for).

Why it matters
--------------
Only aclnn kernels can be captured. While npugraph_ex captures, torch_npu refuses the other kind: "Cannot run
aclop operators during NPU graph capture".

Example
-------
    - func: my_op(Tensor x) -> Tensor
      acl_op: all_version

Use instead
-----------
    - func: my_op(Tensor x) -> Tensor
      op_api: all_version
"""

from __future__ import annotations

from collections.abc import Iterator

from opkit.model.diagnostic import Diagnostic, Severity
from opkit.model.operator import OpSpec
from opkit.rules.context import Context, finding

CODE = "OPK109"


def check(op: OpSpec, context: Context) -> Iterator[Diagnostic]:
    """Report an operator npugraph_ex cannot capture."""
    op_api, acl_op = set(op.op_api), set(op.acl_op)
    where = ""
    if context.torch_version:
        version = "v" + ".".join(context.torch_version.lstrip("v").split(".")[:2])
        op_api, acl_op = op_api & {version}, acl_op & {version}
        where = f" for torch {version[1:]}"
    # An entry with `gen_opapi` and without op_api has forgotten it, which is another finding.
    if acl_op and not op_api and (op.gen_opapi is None or op.op_api):
        message = f"{op.name} has only an aclop kernel{where}, which cannot be captured"
        help = "provide an aclnn kernel and declare op_api"
        yield finding(CODE, Severity.WARNING, op, message, op.mark, help)
