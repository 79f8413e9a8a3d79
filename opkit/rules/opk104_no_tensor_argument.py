"""The operator takes no tensor.

What it does
------------
Warns about a custom operator none of whose arguments is or contains a tensor, unless its `dispatch` names a
Composite kernel.

Why it matters
--------------
The dispatcher picks the kernel by the devices of the tensors. Without one, an NPU kernel is never found:
"There were no tensor arguments to this function". The Meta kernel has no tensor to take a device from either.

Example
-------
    - func: make_mask(int[] size, float p) -> Tensor
      op_api: all_version

Use instead
-----------
Take a tensor of the device wanted, or register a kernel for every device:

    - func: make_mask(int[] size, float p) -> Tensor
      dispatch: {CompositeExplicitAutograd: make_mask}
"""

from __future__ import annotations

from collections.abc import Iterator

from opkit.model.diagnostic import Diagnostic, Severity
from opkit.model.operator import OpSpec
from opkit.rules.context import Context, extra, finding, has_tensor_argument

CODE = "OPK104"


def check(op: OpSpec, context: Context) -> Iterator[Diagnostic]:
    """Report an operator the dispatcher cannot find an NPU kernel for."""
    dispatch = extra(op, "dispatch")
    if has_tensor_argument(op) or (
        isinstance(dispatch, dict) and any("Composite" in str(key) for key in dispatch)
    ):
        return
    if op.gen_opapi is not None:
        # op-plugin's generator does not even get that far (OPK116).
        return
    message = f"{op.name} takes no tensor, so the dispatcher cannot find its NPU kernel"
    help = "take a tensor, or add dispatch: {CompositeExplicitAutograd: kernel}"
    yield finding(CODE, Severity.WARNING, op, message, op.mark, help)
