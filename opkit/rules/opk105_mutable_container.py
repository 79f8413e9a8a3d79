"""A written argument is a list or optional.

What it does
------------
Warns about a custom operator with an argument `Tensor(a!)[]` or `Tensor(a!)?`, unless the file has a
functional sibling for which torch_npu's generator makes a Functionalize kernel.

Why it matters
--------------
torch itself and npugraph_ex take both forms. In GE mode torchair's handling of a functionalized call copies
each written argument as one tensor and fails on a list or None with an AttributeError (torchair of torch_npu
2.13).

Example
-------
    - func: my_scatter_list_(Tensor(a!)[] caches, Tensor indices, Tensor? mask) -> ()

Use instead
-----------
One plain tensor per written argument, or a functional operator that returns the list:

    - func: my_scatter_list(Tensor[] caches, Tensor indices, Tensor? mask) -> Tensor[]
"""

from __future__ import annotations

from collections.abc import Iterator

from opkit.model.diagnostic import Diagnostic, Severity
from opkit.model.operator import OpSpec
from opkit.rules.context import Context, finding

CODE = "OPK105"


def check(op: OpSpec, context: Context) -> Iterator[Diagnostic]:
    """Report each such argument."""
    if context.has_functional_sibling(op):
        return
    for argument in op.schema.mutated:
        if not argument.is_tensor:
            kind = "optional" if argument.is_optional else "a list"
            message = f"`{argument.name}` is written and {kind}: GE mode takes written plain tensors only"
            help = "write one Tensor(a!) per written tensor, or return the new values"
            yield finding(CODE, Severity.WARNING, op, message, argument.mark, help)
