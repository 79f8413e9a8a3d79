"""The self-test's report: every kind of mutant against every operator."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator

from opkit.prove.mutants.catalogue import KINDS
from opkit.prove.mutants.matrix import EQUIVALENT, KILLED, NOT_APPLICABLE, SURVIVED, Matrix, Verdict

WIDTH = 100


def render(matrix: Matrix, width: int = WIDTH) -> str:
    """Print the matrix for people: a block per operator and style, survivors and evidence below."""
    lines: list[str] = []
    for baseline in _operators(matrix):
        lines += _operator(matrix, *baseline, width)
    lines += _survivors(matrix, width)
    lines += _opcheck(matrix, width)
    lines += ["", *_summary(matrix, width)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def render_json(matrix: Matrix) -> str:
    """Print the whole report as JSON."""
    return json.dumps(matrix.to_json(), indent=2) + "\n"


def _operators(matrix: Matrix) -> list[tuple[str, str, str]]:
    return list(dict.fromkeys((b.file, b.operator, b.style) for b in matrix.baselines))


def _operator(matrix: Matrix, file: str, operator: str, style: str, width: int) -> list[str]:
    """Print the kinds that apply to an operator, one line each, and count the others."""
    lines = [f"{operator} [{style}]"]
    for b in matrix.baselines:
        if (b.file, b.operator, b.style) == (file, operator, style):
            reason = f": {b.reason}" if b.reason else ""
            lines.append(_cut(f"  unmutated, {b.mode}: {b.outcome}{reason}", width))
    mine = [v for v in matrix.verdicts if (v.file, v.operator, v.style) == (file, operator, style)]
    left_out: dict[str, list[str]] = {}
    for name in KINDS:
        found = [v for v in mine if v.kind == name]
        for verdict in found:
            if verdict.outcome == NOT_APPLICABLE:
                left_out.setdefault(verdict.reason.splitlines()[0], []).append(name)
            else:
                lines.append(_cut(_line(verdict), width))
    for reason, names in left_out.items():
        lines += textwrap.wrap(
            f"not applicable, {reason}: {', '.join(names)}",
            width,
            initial_indent="  ",
            subsequent_indent="    ",
        )
    return [*lines, ""]


def _line(verdict: Verdict) -> str:
    what = f"{verdict.kind} ({verdict.place})" if verdict.place else verdict.kind
    mark = {KILLED: "killed", SURVIVED: "SURVIVED", EQUIVALENT: "equal"}[verdict.outcome]
    reason = " ".join(verdict.reason.split())
    where = f"{verdict.stage}: {reason}" if verdict.outcome == KILLED else reason
    return f"  {mark:<9}{what:<44} {where}"


def _cut(line: str, width: int) -> str:
    return line if len(line) <= width else f"{line[: width - 3]}..."


def _survivors(matrix: Matrix, width: int) -> Iterator[str]:
    for v in matrix.survivors:
        kind = KINDS[v.kind]
        yield f"SURVIVED: {v.operator} [{v.style}] {v.kind} ({v.place})"
        yield from textwrap.wrap(
            f"{kind.breaks} {kind.matters} Give a case that shows it, or the prover lacks a check.",
            width, initial_indent="    ", subsequent_indent="    ",
        )  # fmt: skip


def _opcheck(matrix: Matrix, width: int) -> Iterator[str]:
    """Say what opcheck makes of the mutants that were killed."""
    kinds = matrix.beyond_opcheck
    if not kinds:
        return
    killed, found = sum(k.killed for k in kinds), sum(k.found_by_opcheck for k in kinds)
    yield (
        f"torch.library.opcheck, given the same cases, finds {found} of the {killed} killed mutants it was "
        "asked about"
    )
    missed = [k for k in kinds if k.found_by_opcheck < k.killed]
    # What it finds as often as opkit does is not worth a line each.
    both = len(kinds) - len(missed)
    if both:
        yield f"  as opkit does        {both} of {len(kinds)} kinds"
    for kind in missed:
        share = f"{kind.found_by_opcheck} of {kind.killed}"
        yield _cut(f"  passes, finds {share:<10} {kind.kind:<26} {KINDS[kind.kind].breaks}", width)


def _summary(matrix: Matrix, width: int) -> list[str]:
    counts = ", ".join(f"{matrix.count(o)} {o}" for o in (KILLED, SURVIVED, EQUIVALENT))
    kinds = {v.kind for v in matrix.verdicts if v.outcome != NOT_APPLICABLE}
    runtime = matrix.runtime
    where = f"runtime: {runtime.kind}, torch {runtime.torch}, torch_npu {runtime.torch_npu}"
    sample = matrix.sample
    some = f"; {sample.count} of each operator and graph, seed {sample.seed}" if sample else ""
    text = f"{counts} (mutants of {len(kinds)} of {len(KINDS)} kinds{some}; {where})"
    if not matrix.passes and not matrix.survivors:
        text += "; not passed: an operator does not enter unmutated, or none of its mutants was killed"
    return textwrap.wrap(text, width)
