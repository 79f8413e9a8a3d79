"""What the HTML report shows, as plain values: the proof sorted by operator, style and case."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from opkit import __version__
from opkit.prove.protocol import (
    BREAKS,
    ENTERS,
    HOLDS,
    NOT_RUN,
    PROVED,
    ModeResult,
    OperatorResult,
    Proof,
    StageResult,
)
from opkit.report.html.picture import picture
from opkit.report.proof import stage_rows, summary
from opkit.report.proof_findings import place

_ORDER = (BREAKS, NOT_RUN, PROVED, ENTERS)
# Evidence that is shown in a form of its own.
_EXHIBITS = ("meta kernel", "converter", "before functionalization", "after functionalization", "ir", "graph")
_BEFORE, _AFTER = "before functionalization", "after functionalization"


def page(proof: Proof) -> dict[str, Any]:
    """Give everything that the template prints."""
    modes = [mode for operator in proof.operators for mode in operator.modes]
    holding = sum(mode.verdict in HOLDS for mode in modes)
    groups = _groups(proof)
    return {
        "title": f"{holding} of {len(modes)}" if modes else "nothing",
        "holds": proof.holds,
        "holding": holding,
        "total": len(modes),
        "stages": proof.stages,
        "nothing": proof.explain(),
        "counts": _counts(proof, modes),
        "shares": _shares([mode.verdict for mode in modes]),
        "facts": _facts(proof),
        "gate": _gate(proof),
        "cached": sum(bool(mode.proved_at) for mode in modes),
        "filters": _filters(proof, modes),
        "operators": [_operator(proof, results) for results in groups],
    }


def _groups(proof: Proof) -> list[list[OperatorResult]]:
    """Put the results of one operator together; those that do not enter come first."""
    found: dict[tuple[str, str], list[OperatorResult]] = {}
    for operator in proof.operators:
        found.setdefault((operator.file, operator.name), []).append(operator)
    return sorted(found.values(), key=lambda results: _ORDER.index(_worst(_verdicts(results))))


def _verdicts(results: Iterable[OperatorResult]) -> list[str]:
    return [mode.verdict for operator in results for mode in operator.modes]


def _worst(verdicts: Iterable[str]) -> str:
    return min(verdicts, key=_ORDER.index, default=NOT_RUN)


def _counts(proof: Proof, modes: Sequence[ModeResult]) -> list[tuple[int, str]]:
    names = {
        "operator": len({(o.file, o.name) for o in proof.operators}),
        "case": len({(o.file, o.name, o.case) for o in proof.operators}),
        "style": len({o.style for o in proof.operators}),
        "mode": len({mode.mode for mode in modes}),
    }
    return [(number, noun + "s" * (number != 1)) for noun, number in names.items()]


def _shares(verdicts: Sequence[str]) -> list[tuple[str, int, float, float]]:
    """Give each verdict with its number and its part of a bar that is 1000 wide."""
    found, x = [], 0.0
    for verdict in reversed(_ORDER):
        number = verdicts.count(verdict)
        if number:
            width = 1000 * number / len(verdicts)
            found.append((verdict, number, round(x, 1), round(width, 1)))
            x += width
    return found


def _facts(proof: Proof) -> list[tuple[str, str]]:
    runtime = proof.runtime
    facts = [
        ("runtime", runtime.kind),
        ("SoC", runtime.soc),
        ("torch", runtime.torch),
        ("torch_npu", runtime.torch_npu),
        ("opkit", __version__),
    ]
    return [(name, value) for name, value in facts if value]


def _gate(proof: Proof) -> list[tuple[str, str, str]] | None:
    """Give the findings of the gate as (place, message, help); None where nobody asked for it."""
    if proof.gate is None:
        return None
    lines = {operator.name: operator for operator in proof.operators}
    return [
        (place(proof, lines[found.operator]) if found.operator in lines else "", found.message, found.help)
        for found in proof.gate
    ]


def _filters(proof: Proof, modes: Sequence[ModeResult]) -> list[tuple[str, str, list[str]]]:
    """Give the filters among which there is something to choose."""
    choices = {
        "verdict": ("Verdict", [v for v in _ORDER if any(mode.verdict == v for mode in modes)]),
        "mode": ("Graph", list(dict.fromkeys(mode.mode for mode in modes))),
        "style": ("Style", list(dict.fromkeys(operator.style for operator in proof.operators))),
    }
    return [(kind, legend, found) for kind, (legend, found) in choices.items() if len(found) > 1]


def _operator(proof: Proof, results: Sequence[OperatorResult]) -> dict[str, Any]:
    first = results[0]
    where = place(proof, first)
    runs = [_run(operator) for operator in results]
    reasons = [reason for run in runs for _, _, reason in run["reasons"]]
    return {
        "name": first.name,
        "place": where,
        "declaration": first.declaration,
        "marks": list(_marks(results)),
        "reasons": list(dict.fromkeys(reasons)),
        "sources": list(_sources(results)),
        "runs": runs,
        "text": " ".join([first.name, where, *dict.fromkeys(reasons)])[:2000],
    }


def _marks(results: Sequence[OperatorResult]) -> Iterator[tuple[str, str, str]]:
    """Give each mode with its worst verdict, and how many of several results hold."""
    modes = dict.fromkeys(mode.mode for operator in results for mode in operator.modes)
    for name in modes:
        verdicts = [mode.verdict for operator in results for mode in operator.modes if mode.mode == name]
        good = sum(verdict in HOLDS for verdict in verdicts)
        yield name, _worst(verdicts), f"{good}/{len(verdicts)}" if len(verdicts) > 1 else ""


def _sources(results: Sequence[OperatorResult]) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """List the Meta kernels and converters that were judged, each text once, with the styles that have it."""
    for title, key in (("Meta kernel", "meta kernel"), ("GE converter", "converter")):
        styles: dict[tuple[str, str], dict[str, None]] = {}
        for operator in results:
            for stage in (stage for mode in operator.modes for stage in mode.stages):
                source = stage.evidence.get(key)
                if source:
                    own = source["file"].startswith("<")
                    where = "" if own else f"{source['file']}:{source['line']}"
                    styles.setdefault((where, source["text"]), {})[operator.style] = None
        if styles:
            yield (
                title,
                [
                    {"title": ", ".join(names), "place": where, "text": text}
                    for (where, text), names in styles.items()
                ],
            )


def _run(operator: OperatorResult) -> dict[str, Any]:
    modes = [(mode.mode, mode.verdict) for mode in operator.modes]
    broken = [mode for mode in operator.modes if mode.verdict not in HOLDS]
    notes = dict.fromkeys(note for mode in operator.modes for note in mode.notes)
    wanted = broken or list(operator.modes)
    return {
        "style": operator.style,
        "case": operator.case,
        "modes": modes,
        "verdicts": [verdict for _, verdict in modes],
        "broken": bool(broken),
        "reasons": [(mode.mode, mode.verdict, mode.reason) for mode in broken],
        "inputs": operator.inputs,
        "stages": [_stage(stage, mode) for stage, mode in stage_rows(operator)],
        "notes": list(notes),
        "commands": [text for mode in wanted if (text := operator.reproduce(mode.mode))],
        "script": next((s for mode in wanted if (s := _script(mode))), ""),
    }


def _script(mode: ModeResult) -> str:
    """Find the script that shows the failure, which the stage that failed may carry."""
    found = (stage.evidence.get("script") for stage in mode.stages)
    return next((text for text in found if isinstance(text, str)), "")


def _stage(stage: StageResult, mode: str) -> dict[str, Any]:
    evidence = stage.evidence
    lines, nodes, tasks = evidence.get("graph"), evidence.get("ir"), evidence.get("tasks")
    shown = {*_EXHIBITS, "script", *(["tasks"] if isinstance(tasks, list) else [])}
    graphs = [
        (f"FX graph {key}", evidence[key]) for key in (_BEFORE, _AFTER) if isinstance(evidence.get(key), str)
    ]
    return {
        "name": stage.name,
        "mode": "" if mode == stage.name else mode,
        "verdict": stage.verdict,
        "reason": stage.reason,
        "said": summary(stage) if stage.verdict == PROVED and stage.name == "schema" else "",
        "tasks": tasks if isinstance(tasks, list) else [],
        "graphs": graphs,
        "picture": picture(nodes) if isinstance(nodes, list) else None,
        "lines": lines if isinstance(lines, list) else [],
        "evidence": _plain({key: value for key, value in evidence.items() if key not in shown}),
    }


def _plain(value: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what says nothing: empty lists and mappings."""
    return {key: item for key, item in value.items() if item not in ([], {}, "")}
