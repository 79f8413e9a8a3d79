"""What is wrong according to a proof: each cause of an operator once, with the modes, styles and cases."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from opkit.prove.protocol import FAILED, HOLDS, NOT_RUN, ModeResult, OperatorResult, Proof


@dataclass(frozen=True)
class Finding:
    """One cause that keeps an operator out of a graph, and where it was seen."""

    operator: OperatorResult
    # The stage that did not hold; empty when none was run.
    stage: str
    # "breaks" or "not run".
    verdict: str
    # With the stage in front.
    reason: str
    modes: tuple[str, ...]
    styles: tuple[str, ...]
    cases: tuple[str, ...]

    @property
    def message(self) -> str:
        """Say it in one sentence."""
        verdict = "is not known to enter" if self.verdict == NOT_RUN else "does not enter"
        where = f"[{', '.join(self.styles)}; case {', '.join(self.cases)}]"
        return f"{self.operator.name} {verdict} {', '.join(self.modes)} {where}: {self.reason}"

    @property
    def command(self) -> str:
        """Give a command that shows it again; empty when that is not known."""
        return self.operator.reproduce(self.modes[0])


def findings(proof: Proof) -> list[Finding]:
    """List the causes, in the order of the operators."""
    seen: dict[tuple[str, str, str, str], list[tuple[OperatorResult, ModeResult]]] = {}
    for operator in proof.operators:
        for mode in operator.modes:
            if mode.verdict not in HOLDS:
                key = (operator.file, operator.name, mode.verdict, mode.reason)
                seen.setdefault(key, []).append((operator, mode))
    return [_finding(places) for places in seen.values()]


def _finding(places: list[tuple[OperatorResult, ModeResult]]) -> Finding:
    operator, mode = places[0]
    return Finding(
        operator,
        _cause(mode),
        mode.verdict,
        mode.reason,
        _once(mode.mode for _, mode in places),
        _once(operator.style for operator, _ in places),
        _once(operator.case for operator, _ in places),
    )


def _once(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))


def _cause(mode: ModeResult) -> str:
    """Name the stage that `ModeResult.reason` is about."""
    stages = (stage for verdict in (FAILED, NOT_RUN) for stage in mode.stages if stage.verdict == verdict)
    return next((stage.name for stage in stages if mode.reason.startswith(f"{stage.name}: ")), "")


def relative_file(proof: Proof, operator: OperatorResult) -> str:
    """Give the YAML's path from the directory of the command, or as it is when it lies elsewhere."""
    if not operator.file or not proof.scope.directory:
        return operator.file
    path = os.path.relpath(operator.file, proof.scope.directory)
    return operator.file if path.startswith("..") else path


def place(proof: Proof, operator: OperatorResult) -> str:
    """Give `file:line` of the declaration."""
    file = relative_file(proof, operator)
    return f"{file}:{operator.line}" if operator.line else file
