"""The gate: what an operator's `enters:` promises and what the proof shows must be the same.

Imports no torch.
A promise that is not kept breaks a model; a graph that nobody promised may be lost again without anyone
noticing. Both fail. A known failure excuses a promise until its end.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from opkit import __version__
from opkit.model.contract import GRAPHS, WORDS, Contract, KnownFailure
from opkit.model.diagnostic import Diagnostic, Severity
from opkit.model.operator import OpSpec
from opkit.prove.plan import read
from opkit.prove.protocol import PROVED, ModeResult, OperatorResult, Proof, StageResult

NOT_KEPT, NOT_PROMISED, NO_PROMISE = "OPK330", "OPK331", "OPK332"
EXPIRED, PASSES = "OPK333", "OPK334"
# Stages that are no part of entering a graph, but promises of their own.
_APART = ("cache",)


@dataclass(frozen=True)
class Evidence:
    """What a proof shows about one operator: word -> why it is not shown, empty where it is."""

    missing: dict[str, str]

    @property
    def shown(self) -> tuple[str, ...]:
        """The words that are shown."""
        return tuple(word for word in WORDS if not self.missing[word])


def gated(proof: Proof, today: datetime.date | None = None) -> Proof:
    """Add the gate's findings to a proof of every mode; with an error among them it does not hold.

    Raises InvalidDeclaration when a YAML has mistakes by now.
    """
    today = today or datetime.date.today()
    findings: list[Diagnostic] = []
    for file in dict.fromkeys(operator.file for operator in proof.operators):
        rows = [operator for operator in proof.operators if operator.file == file]
        for spec in read(file).operators:
            own = [row for row in rows if row.name == spec.name]
            if own:
                versions = {"opkit": __version__, "torch_npu": proof.runtime.torch_npu}
                findings += _judge(spec, evidence(own), today, versions)
    return replace(proof, gate=tuple(findings))


# ---- evidence


def evidence(rows: Sequence[OperatorResult]) -> Evidence:
    """Find out what all styles and cases of one operator show; each of them must show it."""
    missing = {graph: _graph(graph, rows) for graph in GRAPHS}
    entered = [graph for graph in GRAPHS if not missing[graph]]
    for word, why_not in (("dynamic", _dynamic), ("no_recompile", _no_recompile), ("cache", _cache)):
        reasons = [f"{graph}: {reason}" for graph in entered if (reason := why_not(graph, rows))]
        missing[word] = "; ".join(reasons) if entered else "it enters no graph"
    return Evidence(missing)


def _modes(graph: str, rows: Sequence[OperatorResult]) -> Iterator[tuple[str, ModeResult]]:
    for row in rows:
        yield from ((f"{row.style}, case {row.case}", mode) for mode in row.modes if mode.mode == graph)


def _stages(name: str, graph: str, rows: Sequence[OperatorResult]) -> list[tuple[str, StageResult]]:
    return [(who, s) for who, mode in _modes(graph, rows) for s in mode.stages if s.name == name]


def _graph(graph: str, rows: Sequence[OperatorResult]) -> str:
    """Say why the operator does not enter a graph; empty when it does."""
    for who, mode in _modes(graph, rows):
        stages = [stage for stage in mode.stages if stage.name not in _APART]
        # A failure says more than the stages that were not run because of it.
        for stage in sorted(stages, key=lambda stage: stage.verdict != "failed"):
            if stage.verdict != PROVED:
                return f"[{who}] {stage.name}: {stage.reason}"
    if not _stages(graph, graph, rows):
        return "no case was tried in this graph"
    return ""


def _dynamic(graph: str, rows: Sequence[OperatorResult]) -> str:
    tried = [s.evidence["dynamic"] for _, s in _stages(graph, graph, rows) if "dynamic" in s.evidence]
    if not any(seen["sets of sizes"] > 1 and not seen["recompiles"] for seen in tried):
        return "no case gives a dim two sizes above 1"
    return ""


def _no_recompile(graph: str, rows: Sequence[OperatorResult]) -> str:
    for who, stage in _stages(graph, graph, rows):
        if stage.evidence.get("recompiles") != 0:
            return f"[{who}] the second call was not run or compiled again"
    return ""


def _cache(graph: str, rows: Sequence[OperatorResult]) -> str:
    for who, mode in _modes(graph, rows):
        stages = {stage.name: stage for stage in mode.stages}
        if graph not in stages:
            continue  # A case that the operator refuses.
        if "cache" not in stages:
            return f"[{who}] stage cache was not asked for"
        if stages["cache"].verdict != PROVED:
            return f"[{who}] {stages['cache'].reason}"
    return ""


# ---- promise and evidence


def _judge(
    spec: OpSpec, found: Evidence, today: datetime.date, versions: dict[str, str]
) -> Iterator[Diagnostic]:
    contract = spec.contract
    if contract is None:
        shown = ", ".join(found.shown)
        text = f"{spec.name} promises nothing; the proof shows {shown or 'that it enters no graph'}"
        help = f"add `enters: [{shown}]`"
        yield Diagnostic(NO_PROMISE, Severity.ERROR, text, spec.mark, help, spec.name)
        return
    known = {failure.word: failure for failure in contract.known_failures}
    for promise in contract.promises:
        if promise.word in known:
            yield from _known(spec, known[promise.word], found.missing[promise.word], today, versions)
        elif reason := found.missing[promise.word]:
            text = f"{spec.name} promises {promise.word}, which is not shown: {reason}"
            help = f"mend it, take `{promise.word}` out of `enters`, or record it in `known_failures`"
            yield Diagnostic(NOT_KEPT, Severity.ERROR, text, promise.mark, help, spec.name)
    for word in found.shown:
        if word not in contract.words:
            yield _unpromised(spec, contract, word)


def _unpromised(spec: OpSpec, contract: Contract, word: str) -> Diagnostic:
    text = f"the proof shows {word} of {spec.name}, which `enters` does not promise"
    wanted = [w for w in WORDS if w in (*contract.words, word)]
    help = f"add `{word}`: enters: [{', '.join(wanted)}]"
    return Diagnostic(NOT_PROMISED, Severity.ERROR, text, contract.mark, help, spec.name)


def _known(
    spec: OpSpec, failure: KnownFailure, reason: str, today: datetime.date, versions: dict[str, str]
) -> Iterator[Diagnostic]:
    if not reason:
        text = f"{spec.name} keeps its promise {failure.word}: the known failure is no longer needed"
        help = "remove it from `known_failures`"
        yield Diagnostic(PASSES, Severity.WARNING, text, failure.mark, help, spec.name)
    elif is_over(failure.until, today, versions):
        text = f"the known failure of {failure.word} was excused until {failure.until}: {reason}"
        help = f"mend it, or take `{failure.word}` out of `enters`; a new end needs a new reason"
        yield Diagnostic(EXPIRED, Severity.ERROR, text, failure.mark, help, spec.name)
    else:
        text = f"{spec.name} does not keep {failure.word} until {failure.until}: {failure.reason}"
        help = f"it is a known failure; the proof says: {reason}"
        yield Diagnostic(NOT_KEPT, Severity.NOTE, text, failure.mark, help, spec.name)


def is_over(until: str, today: datetime.date, versions: dict[str, str]) -> bool:
    """Tell whether the end of a known failure has come: the day is past, or the version is there."""
    package, _, version = until.partition(" ")
    if not version:
        return today > datetime.date.fromisoformat(until)
    return _release(versions.get(package, "")) >= _release(version)


def _release(version: str) -> list[int]:
    """Give the numbers of a version, without zeros at its end: 2.14 is 2.14.0."""
    match = re.match(r"\d+(?:\.\d+)*", version)
    numbers = [int(number) for number in match[0].split(".")] if match else []
    while numbers and not numbers[-1]:
        numbers.pop()
    return numbers
