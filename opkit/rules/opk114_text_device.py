"""A device is passed as text.

What it does
------------
Warns about an argument named `device` of type `str` in a custom operator.

Why it matters
--------------
Tracing with fake tensors treats an argument of that name as a device and puts a `torch.device` there (torch
2.7), which a `str` argument refuses.

Example
-------
    - func: my_empty(Tensor x, str device="npu") -> Tensor

Use instead
-----------
    - func: my_empty(Tensor x, Device? device=None) -> Tensor
"""

from __future__ import annotations

from collections.abc import Iterator

from opkit.model.diagnostic import Diagnostic, Severity
from opkit.model.operator import OpSpec
from opkit.model.schema import base_of
from opkit.rules.context import Context, finding

CODE = "OPK114"


def check(op: OpSpec, context: Context) -> Iterator[Diagnostic]:
    """Report the argument."""
    argument = op.schema.argument("device")
    if argument is not None and base_of(argument.type).name == "str":
        message = "`device` is a str: tracing puts a torch.device there"
        yield finding(CODE, Severity.WARNING, op, message, argument.mark, "write Device? device=None")
