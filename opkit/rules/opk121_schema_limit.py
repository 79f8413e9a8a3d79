"""op-plugin refuses the schema.

What it does
------------
Reports, for an entry that op-plugin reads, what torch accepts and op-plugin's parser does not: an annotation
with several letters on a written argument, `bool[]` without a size, a string default with a comma and a space
in it, a name with a trailing underscore whose operator does not write `self` and return it, and an `out`
variant that returns anything but its `out` arguments.

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
    yield from _in_place(op)
    yield from _out_variant(op)


def _in_place(op: OpSpec) -> Iterator[Diagnostic]:
    """Report a name with a trailing underscore whose operator does not write `self` and return it.

    A list `self` is returned as nothing. The conditions are those of torchnpugen's `FunctionSchema.kind` and
    `__post_init__` (torch_npu 2.13).
    """
    base, returns = op.schema.name.base, op.schema.returns
    if not base.endswith("_") or base.endswith("__"):
        return
    # `input` is what torch_npu makes of `self` when it registers an entry, and what files written from
    # registered operators have.
    positional = [a for a in op.schema.arguments if not a.kwarg_only]
    self_ = next((a for a in positional if a.name in ("self", "input")), None)
    said = f"op-plugin takes {op.name} for an in-place operator, which "
    help = f"name it {base.rstrip('_')}; one that returns an argument enters no graph"
    if not op.schema.mutated:
        help = f"name it {base.rstrip('_')}; if it writes an argument, mark that, e.g. Tensor(a!) x"
    fresh = next((r for r in returns if r.alias is None), None)
    if fresh is not None and op.schema.mutated:
        yield finding(
            CODE, Severity.ERROR, op, f"{said}returns no new tensor", fresh.mark, help.split(";")[0]
        )
    elif self_ is None or self_.alias is None or not self_.alias.is_write:
        yield finding(CODE, Severity.ERROR, op, f"{said}writes a `self`", op.schema.mark, help)
    elif not isinstance(self_.type, ListType) and [r.alias for r in returns] != [self_.alias]:
        yield finding(CODE, Severity.ERROR, op, f"{said}returns its `self`", self_.mark, help)


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
