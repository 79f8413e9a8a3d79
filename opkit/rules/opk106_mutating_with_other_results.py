"""The operator writes an argument and returns something other than tensors.

What it does
------------
Reports a custom operator that writes an argument and has a result that is not a plain `Tensor`, or that
writes an argument that holds no tensor.

Why it matters
--------------
torch functionalizes a custom operator only if its written arguments are tensors and its results are plain
fresh tensors (`can_auto_functionalize`, torch 2.6 to 2.13). Any other call cannot enter a graph.

Example
-------
    - func: my_update(Tensor(a!) cache, Tensor x) -> Tensor[]

Use instead
-----------
    - func: my_update(Tensor(a!) cache, Tensor x) -> (Tensor, Tensor)
"""

from __future__ import annotations

from collections.abc import Iterator

from opkit.model.diagnostic import Diagnostic, Severity
from opkit.model.operator import OpSpec
from opkit.model.schema import BaseType, is_tensor_like
from opkit.rules.context import Context, finding

CODE = "OPK106"


def check(op: OpSpec, context: Context) -> Iterator[Diagnostic]:
    """Report the results and arguments functionalization refuses."""
    if not op.schema.mutated or context.has_functional_sibling(op):
        return
    for result in op.schema.returns:
        if result.alias is None and result.type != BaseType("Tensor"):
            message = f"{op.name} writes an argument and returns {result.type}: it cannot be functionalized"
            yield finding(
                CODE, Severity.ERROR, op, message, result.mark, "return plain tensors, or write nothing"
            )
    for argument in op.schema.mutated:
        if not is_tensor_like(argument.type):
            message = f"`{argument.name}` is written but holds no tensor: it cannot be functionalized"
            yield finding(CODE, Severity.ERROR, op, message, argument.mark, "write tensors only")
