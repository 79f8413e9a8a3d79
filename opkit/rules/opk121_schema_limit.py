"""op-plugin refuses the schema.

What it does
------------
Reports, for an entry that op-plugin reads, what torch accepts and op-plugin's parser does not: an annotation
with several letters on a written argument, `bool[]` without a size, a string default with a comma and a space
in it, a name with a trailing underscore whose results are new tensors, and an `out` variant that returns
anything but its `out` arguments.

Why it matters
--------------
The build stops in `torchnpugen/model.py`, with a message about the parser's own rules.

Example
-------
    - func: my_op(Tensor(a|b!) x, bool[] mask) -> ()
      op_api: all_version

Use instead
-----------
    - func: my_op(Tensor(a!) x, bool[3] mask) -> ()
      op_api: all_version
"""

from __future__ import annotations

from collections.abc import Iterator

from opkit.model.diagnostic import Diagnostic, Severity
from opkit.model.operator import OpSpec
from opkit.model.schema import BaseType, ListType, OptionalType
from opkit.rules.context import Context, finding

CODE = "OPK121"

_BOOLS = ListType(BaseType("bool"))


def check(op: OpSpec, context: Context) -> Iterator[Diagnostic]:
    """Report each such argument or result."""
    if not (op.op_api or op.acl_op):
        return
    for argument in op.schema.arguments:
        alias, default, type_ = argument.alias, argument.default, argument.type
        if isinstance(type_, OptionalType):
            type_ = type_.element
        if alias is not None and alias.is_write and len(alias.before) > 1:
            message = f"op-plugin takes one alias letter on a written argument, `{argument.name}` has several"
            yield finding(CODE, Severity.ERROR, op, message, argument.mark, f"write ({alias.before[0]}!)")
        elif isinstance(type_, ListType) and type_ == _BOOLS:
            message = f"op-plugin takes bool lists of a fixed size only, `{argument.name}` has none"
            yield finding(CODE, Severity.ERROR, op, message, argument.mark, "write e.g. bool[3]")
        elif default is not None and isinstance(default.value, str) and ", " in default.value:
            message = f"op-plugin splits the schema at every comma and space, also in {default.text}"
            yield finding(CODE, Severity.ERROR, op, message, argument.mark, "leave the space out")
    base = op.schema.name.base
    if base.endswith("_") and not base.endswith("__") and op.schema.mutated:
        fresh = [r for r in op.schema.returns if r.alias is None]
        if fresh:
            message = f"op-plugin takes {op.name} for an in-place operator, which returns no new tensor"
            help = f"return nothing, or name it {base[:-1]}"
            yield finding(CODE, Severity.ERROR, op, message, fresh[0].mark, help)
    yield from _out_variant(op)


def _out_variant(op: OpSpec) -> Iterator[Diagnostic]:
    """Report an `out` variant whose results are not its out arguments, one for one."""
    out = [a for a in op.schema.mutated if a.kwarg_only]
    returns = op.schema.returns
    if not out or not returns or [r.alias for r in returns] == [a.alias for a in out]:
        return
    mark = next((r.mark for r in returns if r.alias is None), returns[0].mark)
    names = ", ".join(a.name for a in out)
    message = f"op-plugin takes {op.name} for an `out` variant, which returns its out arguments or nothing"
    help = f"return {names}, each with its alias annotation, or write -> ()"
    yield finding(CODE, Severity.ERROR, op, message, mark, help)
