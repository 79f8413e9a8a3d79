"""A tensor argument stands behind one that is none.

What it does
------------
Notes a custom operator with a positional tensor argument after a positional argument that is no tensor.

Why it matters
--------------
An Ascend IR operator has its inputs first and its attributes after them, and torchair's own conversion of an
operator by order gives it the arguments in that order, as does everybody who reads the prototype beside the
schema. By the convention of op-plugin and torchair the schema has that order, too. An operator that does not
keep it works where everything is matched by name, as in what `opkit gen` writes.

Example
-------
    - func: my_update(Tensor(a!) cache, int axis, Tensor x) -> ()

Use instead
-----------
    - func: my_update(Tensor(a!) cache, Tensor x, int axis) -> ()
"""

from __future__ import annotations

from collections.abc import Iterator

from opkit.model.diagnostic import Diagnostic, Severity
from opkit.model.operator import OpSpec
from opkit.model.schema import base_of
from opkit.rules.context import Context, finding

CODE = "OPK123"


def check(op: OpSpec, context: Context) -> Iterator[Diagnostic]:
    """Note the first such tensor."""
    before = None
    for argument in op.schema.positional:
        if base_of(argument.type).name != "Tensor":
            before = before or argument
        elif before is not None:
            message = f"the tensor `{argument.name}` stands after `{before.name}`, which is none"
            help = "put tensor arguments first: a new operator can, one that is in use cannot"
            yield finding(CODE, Severity.NOTE, op, message, argument.mark, help)
            return
