"""The operator returns nothing and writes nothing.

What it does
------------
Reports a custom operator whose schema returns `()`, marks no argument as written and is not declared to have
a side effect.

Why it matters
--------------
To a graph such a call computes nothing anyone uses, so it is removed: the kernel never runs, without a word.
An operator that does write one of its arguments loses that write.

Example
-------
    - func: store_block(Tensor key, Tensor cache, int block) -> ()

Use instead
-----------
Mark what the operator writes:

    - func: store_block(Tensor key, Tensor(a!) cache, int block) -> ()

For an operator whose effect torch cannot see (printing, prefetching, sending), declare it:

    - func: prefetch(Tensor x, int size) -> ()
      side_effect: true
"""

from __future__ import annotations

from collections.abc import Iterator

from opkit.model.diagnostic import Diagnostic, Severity
from opkit.model.operator import OpSpec
from opkit.rules.context import Context, finding

CODE = "OPK102"


def check(op: OpSpec, context: Context) -> Iterator[Diagnostic]:
    """Report an operator a graph would drop."""
    if op.schema.returns or op.schema.mutated or op.side_effect:
        return
    message = f"{op.name} returns nothing and writes no argument: a graph drops the call"
    help = "mark what it writes, e.g. Tensor(a!) cache, or declare side_effect: true"
    yield finding(CODE, Severity.ERROR, op, message, op.mark, help)
