"""The operator takes a list of numbers from the host.

What it does
------------
Notes custom operators with an `int[]`, `SymInt[]` or `float[]` argument.

Why it matters
--------------
The numbers are constants of a captured graph. If they change from call to call (sequence lengths, group
sizes), every new list is a new graph, unless the backend can update the argument in place.

Example
-------
    - func: my_attention(Tensor q, Tensor k, int[] actual_seq_lengths) -> Tensor

Use instead
-----------
A tensor on the device, whose values may change between replays:

    - func: my_attention(Tensor q, Tensor k, Tensor actual_seq_lengths) -> Tensor
"""

from __future__ import annotations

from collections.abc import Iterator

from opkit.model.diagnostic import Diagnostic, Severity
from opkit.model.operator import OpSpec
from opkit.model.schema import BaseType, ListType, OptionalType, Type
from opkit.rules.context import Context, finding, listed

CODE = "OPK113"


def check(op: OpSpec, context: Context) -> Iterator[Diagnostic]:
    """Note all such arguments of an operator at once."""
    found = [a for a in op.schema.arguments if is_host_list(a.type)]
    if found:
        message = f"{listed([a.name for a in found])}: lists from the host are constants of a captured graph"
        help = "take a Tensor if the numbers change from call to call, or SymInt[] if they come from shapes"
        yield finding(CODE, Severity.NOTE, op, message, found[0].mark, help)


def is_host_list(type_: Type) -> bool:
    """Tell whether this is a list of numbers whose length may change."""
    if isinstance(type_, OptionalType):
        type_ = type_.element
    # Lists of a fixed size are strides, paddings and the like.
    return (
        isinstance(type_, ListType)
        and type_.size is None
        and isinstance(type_.element, BaseType)
        and type_.element.name in ("int", "SymInt", "float")
    )
