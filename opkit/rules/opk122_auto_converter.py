"""torchair makes no converter for the operator by itself.

What it does
------------
Notes a custom operator whose name contains `aten` or `prim` (as in `latent`, `primary`), that has a `Scalar`
argument, or that has a list of tensors that may be missing (`Tensor[]?`, `Tensor?[]`).

Why it matters
--------------
torchair converts a custom operator by itself if it finds an Ascend IR operator of its name. It takes `aten`
and `prim` anywhere in the name for torch's own operators, refuses `Scalar`, and counts such lists as
attributes (torchair of torch_npu 2.13, `fx2ge_converter.py`).

Example
-------
    - func: multi_head_latent_attention(Tensor(a!) q) -> ()

Use instead
-----------
Generate a converter with `opkit gen`, or choose another name:

    - func: multi_head_mla(Tensor(a!) q) -> ()
"""

from __future__ import annotations

from collections.abc import Iterator

from opkit.model.diagnostic import Diagnostic, Severity
from opkit.model.operator import OpSpec
from opkit.model.schema import ListType, OptionalType, base_of
from opkit.rules.context import Context, finding

CODE = "OPK122"


def check(op: OpSpec, context: Context) -> Iterator[Diagnostic]:
    """Note the first reason; one is enough for an explicit converter."""
    if op.ge is not None:
        # Whoever writes `ge` has thought of the converter.
        return
    reason = _reason(op)
    if reason:
        message = f"torchair makes no converter by itself: {reason}"
        yield finding(CODE, Severity.NOTE, op, message, op.mark, "`opkit gen` writes one")


def _reason(op: OpSpec) -> str:
    for part in ("aten", "prim"):
        if part in op.schema.name.qualified:
            return f"the name contains `{part}`"
    for argument in op.schema.arguments:
        if base_of(argument.type).name == "Scalar":
            return f"`{argument.name}` is a Scalar"
        type_ = argument.type
        if base_of(type_).name != "Tensor":
            continue
        optional_list = isinstance(type_, OptionalType) and isinstance(type_.element, ListType)
        of_optionals = isinstance(type_, ListType) and isinstance(type_.element, OptionalType)
        if optional_list or of_optionals:
            return f"`{argument.name}` is of type {type_}"
    return ""
