"""Findings of the parts that generate code: what they would refuse is said at check time, too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from opkit.emit.ge_binding import check, check_file
from opkit.model.diagnostic import Diagnostic, Severity
from opkit.model.operator import OpSpec
from opkit.rules.context import Context
from opkit.shape.errors import NEEDS_ENVIRONMENT, NO_RULE
from opkit.shape.rule import resolve

GE_ARGUMENT = "OPK301"
MUTABLE_CONTAINER = "OPK302"


def check_meaning(context: Context) -> Iterator[Diagnostic]:
    """Report rules a Meta kernel cannot be made from. That there is no rule at all is OPK103."""
    for op in context.op_file.operators:
        if op.section != "custom" or (op.meta is None and op.gen_opapi is None):
            continue
        for found in resolve(op, context.op_file).diagnostics:
            if found.code == NEEDS_ENVIRONMENT:
                # Whoever generates the code says what it is for; nothing is wrong with the rule.
                yield replace(found, severity=Severity.NOTE)
            elif found.code != NO_RULE:
                yield found


def check_ge(context: Context) -> Iterator[Diagnostic]:
    """Report what keeps operators out of GE; npugraph_ex takes them all the same, so nothing is an error."""
    op_file = context.op_file
    custom = [op for op in op_file.operators if op.section == "custom"]
    functionalized = {op.name for op in custom if context.has_functional_sibling(op)}
    # An operator may be declared once per range of versions: only different ones share an IR by mistake.
    first: dict[str, OpSpec] = {}
    for op in custom:
        first.setdefault(op.name, op)
    others = [op for op in custom if first[op.name] is not op]
    findings = [
        *check_file(replace(op_file, operators=tuple(first.values()))),
        *(f for op in others for f in check(op)),
    ]
    for found in findings:
        if found.code == MUTABLE_CONTAINER and found.operator in functionalized:
            # torch_npu's generator makes a Functionalize kernel, so torchair never sees the written argument.
            continue
        if found.severity is Severity.ERROR:
            yield replace(found, severity=Severity.WARNING)
        elif found.code == GE_ARGUMENT:
            # An optional argument that GE has no type for is simply left out.
            yield replace(found, severity=Severity.NOTE)
        else:
            yield found
