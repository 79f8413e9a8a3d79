"""Adds to a failure what `opkit check` knows about the operator. Imports no torch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from opkit.model.diagnostic import Diagnostic, Severity
from opkit.prove.plan import read
from opkit.prove.protocol import FAILED, ModeResult, OperatorResult, Proof, StageResult
from opkit.rules import check

# Codes of what keeps an operator out of GE alone.
_GE_ONLY = "OPK3"


def explained(proof: Proof) -> Proof:
    """Name the finding behind each failure that has one: `... (OPK105: ...)`."""
    return replace(proof, operators=tuple(_operator(operator) for operator in proof.operators))


def _operator(operator: OperatorResult) -> OperatorResult:
    return replace(operator, modes=tuple(_mode(operator, mode) for mode in operator.modes))


def _mode(operator: OperatorResult, mode: ModeResult) -> ModeResult:
    return replace(mode, stages=tuple(_stage(operator, stage) for stage in mode.stages))


def _stage(operator: OperatorResult, stage: StageResult) -> StageResult:
    if stage.verdict != FAILED:
        return stage
    texts = [
        f"({found.code}: {found.message})"
        for found in _findings(operator.file, operator.name, stage.name)
        if found.message not in stage.reason
    ]
    return replace(stage, reason=" ".join([stage.reason, *texts]))


def _findings(file: str, name: str, stage: str) -> Iterator[Diagnostic]:
    for found in _all(file):
        ge_only = found.code.startswith(_GE_ONLY)
        if found.operator == name and (stage == "ge" if ge_only else found.severity is Severity.ERROR):
            yield found


@lru_cache(maxsize=16)
def _all(file: str) -> tuple[Diagnostic, ...]:
    return check(read(file))
