"""A file that the entry names does not exist.

What it does
------------
Reports a `reference`, `kernel`, `meta.python`, `ge.converter` or `call` of the form `file.py:function` whose
file is not there. Paths are relative to the YAML file.

Why it matters
--------------
Generating and proving the operator need the file.

Example
-------
    - func: my_op(Tensor x) -> Tensor
      reference: refrence.py:my_op

Use instead
-----------
    - func: my_op(Tensor x) -> Tensor
      reference: reference.py:my_op
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from opkit.model.diagnostic import Diagnostic, Severity
from opkit.model.operator import EntryPoint, OpSpec
from opkit.rules.context import Context, finding

CODE = "OPK118"


def check(op: OpSpec, context: Context) -> Iterator[Diagnostic]:
    """Report each missing file."""
    points: list[EntryPoint | None] = [op.reference, op.kernel, *(case.call for case in op.cases)]
    points.append(op.meta.python if op.meta else None)
    points.append(op.ge.converter if op.ge else None)
    named = [(p.module, p.mark) for p in points if p is not None and p.module.endswith(".py")]
    for name, mark in named:
        if not (Path(context.op_file.path).parent / name).is_file():
            message = f"there is no file {name} beside {Path(context.op_file.path).name}"
            yield finding(CODE, Severity.ERROR, op, message, mark, "paths are relative to the YAML file")
