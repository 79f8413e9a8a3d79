"""Compares the Ascend IR that CANN has registered with the declared prototype.

GE hands inputs and attributes to the kernel by the registered order, whatever names the graph has; a
converter that agrees with the declaration says nothing about that.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import zip_longest

from opkit.model.prototype import IrPrototype


def problem(prototype: IrPrototype) -> str:
    """Say how the registered IR differs, or "". GE must have been started: before, it knows no IR at all.

    The registration may have more optional inputs and attributes behind the declared ones.
    """
    module = sys.modules["torchair.core"]._torchair
    status, inputs, outputs, attributes = module.get_registered_ir_def(prototype.op)
    if status != "SUCCESS":
        return f"CANN has no Ascend IR {prototype.op} registered"
    rows = (
        ("input", inputs, [(t.name, t.kind) for t in prototype.inputs]),
        ("output", outputs, [(t.name, t.kind) for t in prototype.outputs]),
        ("attribute", attributes, [(a.name, a.type) for a in prototype.attributes]),
    )
    for what, registered, declared in rows:
        wrong = _difference(what, registered, declared)
        if wrong:
            return f"the Ascend IR {prototype.op} that is registered is not the declared one: {wrong}"
    return ""


def _difference(what: str, registered: Sequence[Sequence[str]], declared: Sequence[tuple[str, str]]) -> str:
    for index, (found, wanted) in enumerate(zip_longest(registered, declared)):
        if found is None:
            return f"it has no {what} `{wanted[0]}`"
        if wanted is None:
            if what == "attribute" or found[1] == "optional":
                continue
            return f"it has one more {what}, `{found[0]}`"
        if tuple(found) != tuple(wanted):
            got, said = (f"`{name}` ({kind})" for name, kind in (found, wanted))
            return f"{what} {index} is {got}, declared {said}"
    return ""
