"""A proof as a table for people: one line per stage, failures spelled out below."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from opkit.model.diagnostic import Diagnostic, Severity
from opkit.prove.protocol import FAILED, HOLDS, PROVED, ModeResult, OperatorResult, Proof, StageResult
from opkit.prove.selection import why_not_asked

# Width where there is no terminal: fits a CI log and an e-mail.
WIDTH = 100

_STYLES = {PROVED: "green", FAILED: "bold red"}


def render(proof: Proof, width: int = WIDTH, color: bool = False) -> str:
    """Print the report; `width` is the number of columns."""
    from rich.console import Console

    buffer = io.StringIO()
    console = Console(
        file=buffer,
        width=width,
        force_terminal=color,
        no_color=not color,
        color_system="standard" if color else None,
        highlight=False,
        emoji=False,
        markup=False,
    )
    if proof.operators:
        console.print(_table(proof))
    for line in [*_failures(proof, width), _wrapped(summary_line(proof), width)]:
        console.print(line, soft_wrap=True)
    for line in _gate(proof, color):
        console.print(line, soft_wrap=True)
    # A table pads its cells; nobody wants the blanks at the ends of lines.
    return "\n".join(line.rstrip() for line in buffer.getvalue().splitlines()) + "\n"


def _table(proof: Proof) -> Any:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.ASCII2 if not _unicode() else box.SIMPLE_HEAD, expand=True, pad_edge=False)
    table.add_column("operator", ratio=3, overflow="fold")
    table.add_column("stage", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    table.add_column("evidence", ratio=7, overflow="fold")
    for operator in proof.operators:
        head = [operator.name, operator.style, f"case {operator.case}"]
        rows = [
            (stage.name if mode in ("", stage.name) else f"{stage.name} ({mode})", stage)
            for stage, mode in stage_rows(operator)
            # With `--stage` the summary says once that the others were not run.
            if not (proof.stages and stage.reason == why_not_asked(proof.stages))
        ]
        for index, (stage, result) in enumerate(rows):
            last = index == len(rows) - 1
            label = head[index] if index < len(head) and not last else "\n".join(head[index:])
            table.add_row(
                Text(label),
                Text(stage),
                Text(result.verdict, style=_STYLES.get(result.verdict, "yellow")),
                Text(result.reason.splitlines()[0] if result.reason else summary(result)),
                end_section=last,
            )
    return table


def _unicode() -> bool:
    import sys

    encoding = getattr(sys.stdout, "encoding", None) or "ascii"
    return "utf" in encoding.lower()


def stage_rows(operator: OperatorResult) -> Iterator[tuple[StageResult, str]]:
    """List the stages: what every mode found alike once, then each mode's own with the mode."""
    modes = operator.modes
    tables = [{stage.name: stage for stage in mode.stages} for mode in modes]
    shared = {
        name
        for name, stage in tables[0].items()
        if name != "values" and all(_alike(stage, table.get(name)) for table in tables)
    }
    # In the order of the stages, so that a failure stands above what was not run because of it. From the
    # first stage on that is a mode's own, each mode is told to its end.
    names = list(tables[0])
    common = next((i for i, name in enumerate(names) if name not in shared), len(names))
    yield from ((tables[0][name], "") for name in names[:common])
    for mode, table in zip(modes, tables):
        yield from ((stage, mode.mode) for stage in list(table.values())[common:])


def _alike(stage: StageResult, other: StageResult | None) -> bool:
    return other is not None and (stage.verdict, stage.reason) == (other.verdict, other.reason)


def _outputs(evidence: Mapping[str, Any]) -> str:
    outputs = ", ".join(map(str, evidence.get("outputs", []))) or evidence.get("registered as", "")
    symbolic = ", ".join(map(str, evidence.get("symbolic outputs", [])))
    return f"{outputs}; symbolic {symbolic}" if symbolic else str(outputs)


def _host(evidence: Mapping[str, Any]) -> str:
    written = evidence.get("written")
    return f"{evidence.get('kernel', '')}" + (f"; writes {', '.join(written)}" if written else "")


def _capture(evidence: Mapping[str, Any]) -> str:
    tasks = evidence.get("tasks")
    captures = evidence.get("captures", {})
    parts = [f"captured {', '.join(tasks)}" if isinstance(tasks, list) else "captured"]
    if evidence.get("replay function"):
        parts.append("replay function")
    if captures:
        parts.append(f"captures: {captures['first call']}, then {captures['replay']}")
    calls = list(evidence.get("kernel calls", {}).values())
    if calls and None not in calls:
        parts.append(f"kernel calls: {calls[0]} before the replay, {calls[1]} during it")
    if "recompiles" in evidence:
        parts.append(f"{evidence['recompiles']} recompiles")
    if evidence.get("written by replay"):
        parts.append(f"replay writes {', '.join(evidence['written by replay'])}")
    return "; ".join([*parts, str(evidence.get("sizes", ""))])


def _ge(evidence: Mapping[str, Any]) -> str:
    nodes = [
        n.split(": ", 1)[1] for n in evidence.get("graph", []) if ": Data(" not in n and "NetOutput" not in n
    ]
    nodes += [f"{out} -> {name}" for out, name in evidence.get("written back", {}).items()]
    runs = evidence.get("run") or f"{evidence.get('runs', 0)} runs"
    keys = (
        "attributes seen with one value",
        "flags not told apart",
        "optionals never given",
        "optionals never None",
    )
    seen = [f"{key}: {', '.join(evidence[key])}" for key in keys if key in evidence]
    folded = [evidence["folded"]] if "folded" in evidence else []
    return "; ".join([*nodes, *folded, str(runs), str(evidence.get("sizes", "")), *seen])


def _cache(evidence: Mapping[str, Any]) -> str:
    """Say what a second process did; what a plain `cache_compile` does is worth a warning to every reader."""
    graph = evidence.get("graph", [])
    same = "captured model"
    if isinstance(graph, list):
        same = ", ".join(item.rpartition(": ")[2] if ": " in item else item for item in graph)
    parts = [f"a second process takes the artifact ({same})", f"results {evidence.get('results', '')}"]
    return "; ".join([*parts, f"a plain call: {evidence.get('plain call', '')}"])


def _counted(calls: Mapping[str, int] | str) -> str:
    return calls if isinstance(calls, str) else ", ".join(f"{n} {what}" for what, n in calls.items())


_SUMMARIES: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "schema": lambda e: "registered as declared",
    "meta": _outputs,
    "host": _host,
    "dynamo": lambda e: f"{e.get('graphs')} graph, {e.get('operator nodes')} node of the operator",
    "npugraph_ex": _capture,
    "ge": _ge,
    "values": lambda e: f"equal to {e.get('reference')}: {', '.join(e.get('compared', []))}",
    "cache": _cache,
    "variations": lambda e: f"seed {e.get('seed')}: {_counted(e.get('calls', {}))}",
    "composition": lambda e: "; ".join(e.get("contexts", [])),
}


def summary(stage: StageResult) -> str:
    """Say in one line what a proved stage saw; the whole evidence is in the JSON report."""
    known = _SUMMARIES.get(stage.name)
    return known(stage.evidence) if known else ""


def _failures(proof: Proof, width: int) -> Iterator[str]:
    for operator in proof.operators:
        for mode in operator.modes:
            if mode.verdict not in HOLDS:
                title = (
                    f"{operator.name} [{operator.style}, case {operator.case}] {mode.mode}: {mode.verdict}"
                )
                yield f"{title}\n{textwrap.indent(_wrapped(mode.reason, width - 4), '    ')}"
    for text in _notes(proof):
        yield _wrapped(f"note: {text}", width)


def _gate(proof: Proof, color: bool) -> Iterator[Any]:
    """Say where promise and evidence differ, and how many operators are as they promise."""
    from rich.text import Text

    from opkit.report import diagnostics

    if proof.gate is None:
        return
    if proof.gate:
        found = [_nearby(finding) for finding in proof.gate]
        yield Text.from_ansi("\n" + diagnostics.render(found, "full", color).rstrip())
    yield f"\n{kept_promises(proof)}"


def _nearby(found: Diagnostic) -> Diagnostic:
    """Name a file below the working directory as one does there."""
    here = Path.cwd()
    if found.mark is None or not Path(found.mark.file).is_relative_to(here):
        return found
    return replace(found, mark=found.mark._replace(file=str(Path(found.mark.file).relative_to(here))))


def kept_promises(proof: Proof) -> str:
    """Count the operators whose promise and evidence are the same."""
    names = {(operator.file, operator.name) for operator in proof.operators}
    wrong = {found.operator for found in proof.gate or () if found.severity is Severity.ERROR}
    kept = sum(name not in wrong for _, name in names)
    return f"gate: {kept} of {_count(len(names), 'operator')} as promised"


def _wrapped(text: str, width: int) -> str:
    lines = (textwrap.wrap(line, width) or [""] for line in text.splitlines())
    return "\n".join(part for line in lines for part in line)


def _notes(proof: Proof) -> Iterator[str]:
    """List each note once, with the operators it is about."""
    about: dict[str, list[str]] = {}
    for operator in proof.operators:
        for mode in operator.modes:
            for text in mode.notes:
                names = about.setdefault(text, [])
                if operator.name not in names:
                    names.append(operator.name)
    for text, names in about.items():
        yield f"{text} ({', '.join(names)})"


def summary_line(proof: Proof) -> str:
    """Count what holds, and say on which runtime that was found."""
    if not proof.operators and proof.scope.nothing:
        return f"nothing to prove: {proof.scope.nothing}"
    modes: list[ModeResult] = [mode for operator in proof.operators for mode in operator.modes]
    entering = sum(mode.verdict in HOLDS for mode in modes)
    verb = f"proved, of stage {', '.join(proof.stages)} only" if proof.stages else "enter"
    runtime = proof.runtime
    where = f"{runtime.kind}, torch {runtime.torch}, torch_npu {runtime.torch_npu}, {runtime.soc}".rstrip(
        ", "
    )
    names = {(operator.file, operator.name) for operator in proof.operators}
    what = [
        _count(len(names), "operator"),
        _count(len({_key(operator) for operator in proof.operators}), "case"),
        _count(len({operator.style for operator in proof.operators}), "style"),
        _count(len({mode.mode for mode in modes}), "mode"),
    ]
    kept = sum(bool(mode.proved_at) for mode in modes)
    cached = f"; {kept} of them not proved now but taken from the cache of earlier results" if kept else ""
    return f"{entering} of {len(modes)} {verb} ({', '.join(what)}; runtime: {where}){cached}"


def _key(operator: OperatorResult) -> tuple[str, str, str]:
    return operator.file, operator.name, operator.case


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"
