"""The name says something else than the schema.

What it does
------------
Warns about a custom operator named `foo_` that writes nothing, about an overload `out` that marks no argument
as written, and about a base name that ends in `_out`; the last is an error in an entry that op-plugin reads.

Why it matters
--------------
A trailing underscore means in-place to torch, torch_npu's generator and every reader. If the kernel does
write an argument that the schema does not mark, a graph loses the write. The suffix `_out` is reserved:
op-plugin makes C++ names with it, and its generator refuses such a schema.

Example
-------
    - func: my_update_(Tensor x, Tensor y) -> Tensor

Use instead
-----------
    - func: my_update_(Tensor(a!) x, Tensor y) -> ()
"""

from __future__ import annotations

from collections.abc import Iterator

from opkit.model.diagnostic import Diagnostic, Severity
from opkit.model.operator import OpSpec
from opkit.rules.context import Context, finding

CODE = "OPK108"


def check(op: OpSpec, context: Context) -> Iterator[Diagnostic]:
    """Report the name."""
    base, overload = op.schema.name.base, op.schema.name.overload
    built = bool(op.op_api or op.acl_op)
    if base.endswith("_out"):
        help = f"write {base[:-4]}.out(..., *, Tensor(a!) out)"
        severity = Severity.ERROR if built else Severity.WARNING
        yield finding(CODE, severity, op, "the suffix `_out` is reserved", op.mark, help)
    elif op.schema.mutated:
        return
    elif base.endswith("_") and not base.endswith("__") and not built:
        # OPK121 tells of those that op-plugin reads.
        message = f"`{base}` is named like an in-place operator but marks no argument as written"
        help = "mark what it writes, e.g. Tensor(a!) x, or drop the underscore"
        yield finding(CODE, Severity.WARNING, op, message, op.mark, help)
    elif overload == "out" or overload.endswith("_out"):
        message = f"`{op.name}` is named like an out variant but marks no argument as written"
        help = "mark what it writes, e.g. *, Tensor(a!) out, or give the overload another name"
        yield finding(CODE, Severity.WARNING, op, message, op.mark, help)
