"""A result of the operator is one of its arguments.

What it does
------------
Reports a custom operator whose schema gives a result an alias annotation: an in-place operator that returns
the argument it wrote, an `out` variant, a view. It is an error where no torch version accepts the form, a
warning where torch accepts it only for operators tagged `torch.Tag.inplace` or `torch.Tag.out` (torch 2.13),
and a note where the file has a functional sibling for which torch_npu's generator makes a Functionalize
kernel.

Why it matters
--------------
A graph holds no mutation: functionalization replaces the call by one that returns the new values. For a
custom operator torch can do so only if no result shares memory with an argument. Compiling the call raises
"Found a custom (non-ATen) operator whose output has alias annotations".

Example
-------
    - func: my_scatter_(Tensor(a!) self, Tensor indices, Tensor updates) -> Tensor(a!)

Use instead
-----------
Return nothing; whoever calls the operator has the argument already:

    - func: my_scatter(Tensor(a!) self, Tensor indices, Tensor updates) -> ()

Where torch 2.13 is the oldest version wanted, `tags: inplace` does as well (`tags: out` for an `out`
variant).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from opkit.model.diagnostic import Diagnostic, Severity
from opkit.model.operator import OpSpec
from opkit.model.schema import OperatorSchema
from opkit.rules.context import Context, finding, listed, tags

CODE = "OPK101"


def check(op: OpSpec, context: Context) -> Iterator[Diagnostic]:
    """Report the first aliased result, naming every argument that is returned."""
    aliased = [r for r in op.schema.returns if r.alias is not None]
    if not aliased:
        return
    letters = {letter for r in aliased if r.alias for letter in r.alias.before}
    names = [a.name for a in op.schema.arguments if a.alias and letters & set(a.alias.before)]
    letter = aliased[0].alias.before[0] if aliased[0].alias else ""
    what = listed(names) if names else f"what no argument is: none has the alias letter `{letter}`"
    view = not any(r.alias and r.alias.is_write for r in aliased)
    message = f"{op.name} returns {'a view of ' if view else ''}{what}"
    help = f"return only fresh results: {_twin(op.schema)}"
    if view:
        help = "return a copy, and drop the alias annotation"
    tag = None if context.is_before("2.13") else _tag(op)
    if context.has_functional_sibling(op):
        severity = Severity.NOTE
        help = (
            "torch_npu's generator makes a Functionalize kernel from the functional sibling; outside it, "
            + help
        )
    elif tag and tag in tags(op):
        if context.torch_version:
            return
        severity = Severity.NOTE
        message += f"; torch takes that into a graph from 2.13 on, since it is tagged `{tag}`"
    elif tag:
        severity = Severity.WARNING
        message += "; torch takes that into a graph from 2.13 on, and only if it is tagged"
        help += f"; or, if torch 2.13 and later will do, add tags: {tag}"
    else:
        severity = Severity.ERROR
    yield finding(CODE, severity, op, message, aliased[0].mark, help)


def _twin(schema: OperatorSchema) -> str:
    """Print the schema that every graph takes: the same arguments, none of them returned."""
    fresh = tuple(r for r in schema.returns if r.alias is None)
    namespace = f"{schema.name.namespace}::" if schema.name.namespace else ""
    return f"{namespace}{replace(schema, returns=fresh)}"


def _tag(op: OpSpec) -> str | None:
    """Give the tag (`inplace` or `out` of torch.Tag) under which torch 2.13 accepts the schema, if any."""
    schema = op.schema
    written = schema.mutated
    if not written or not all(a.is_tensor for a in written):
        return None
    if [r.alias for r in schema.returns] != [a.alias for a in written]:
        return None
    if all(a.kwarg_only for a in written):
        return "out"
    return "inplace" if len(written) == 1 and written[0] is schema.arguments[0] else None
