"""A proof as a table of verdicts, one line per operator: for many operators, where each stage is too much."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from opkit.prove.protocol import BREAKS, HOLDS, NOT_RUN, ModeResult, Proof
from opkit.report.proof import WIDTH, summary_line

_Name = tuple[str, str, str]


def render(proof: Proof, width: int = WIDTH) -> str:
    """Print what each operator does in each mode, why where it does not enter, and totals."""
    if not proof.operators:
        return summary_line(proof) + "\n"
    modes = list(dict.fromkeys(mode.mode for operator in proof.operators for mode in operator.modes))
    table = _by_operator(proof)
    lines = list(_rows(table, modes, width))
    lines += _not_proved(proof, width)
    lines += ["", *_totals(table, modes)]
    if proof.scope.not_proved:
        lines += [f"not run: {len(proof.scope.not_proved)} more, which were not tried"]
    lines += (
        [f"left out: stage {', '.join(proof.scope.without)}; `--also` has it run"]
        if proof.scope.without
        else []
    )
    lines += textwrap.wrap(summary_line(proof), width)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _not_proved(proof: Proof, width: int) -> Iterator[str]:
    """List the operators that were not tried, by the reason."""
    about: dict[str, list[str]] = {}
    for name, reason in sorted(proof.scope.not_proved.items()):
        about.setdefault(reason, []).append(name)
    for reason, names in sorted(about.items(), key=lambda item: item[1]):
        text = f"not run: {', '.join(names)}"
        yield from textwrap.wrap(text, width, subsequent_indent="  ", break_on_hyphens=False)
        yield from textwrap.wrap(
            f"because {reason}", width, initial_indent="    ", subsequent_indent="      "
        )


def _by_operator(proof: Proof) -> dict[_Name, dict[str, list[tuple[str, ModeResult]]]]:
    """Gather the cases of each operator and style: mode -> (case, result)."""
    table: dict[_Name, dict[str, list[tuple[str, ModeResult]]]] = {}
    for operator in proof.operators:
        row = table.setdefault((operator.file, operator.name, operator.style), {})
        for mode in operator.modes:
            row.setdefault(mode.mode, []).append((operator.case, mode))
    return table


def verdict(results: Sequence[tuple[str, ModeResult]]) -> str:
    """Give the verdict of an operator: that of its weakest case."""
    found = [mode.verdict for _, mode in results]
    if BREAKS in found:
        return BREAKS
    return found[0] if found and all(v in HOLDS for v in found) else NOT_RUN


def _rows(
    table: dict[_Name, dict[str, list[tuple[str, ModeResult]]]], modes: list[str], width: int
) -> Iterator[str]:
    longest = max(len(name) for _, name, _ in table)
    several = len({style for _, _, style in table}) > 1
    yield "  ".join([f"{'operator':{longest}}", *(f"{mode:18}" for mode in modes)])
    for (_, name, style), row in sorted(table.items(), key=lambda item: (item[0][1], item[0][2])):
        cells = [_cell(row.get(mode, [])) for mode in modes]
        label = f"{name:{longest}}" + (f"  {style}" if several else "")
        yield "  ".join([label, *(f"{cell:18}" for cell in cells)])
        for reason in _reasons(row):
            yield from textwrap.wrap(reason, width, initial_indent="    ", subsequent_indent="      ")


def _cell(results: Sequence[tuple[str, ModeResult]]) -> str:
    """Say `enters`, or how many of the cases do."""
    if not results:
        return "-"
    good = sum(mode.verdict in HOLDS for _, mode in results)
    of_all = "" if good in (0, len(results)) else f" ({good} of {len(results)} enter)"
    return f"{verdict(results)}{of_all}"


def _reasons(row: dict[str, list[tuple[str, ModeResult]]]) -> Iterator[str]:
    """List each reason once, with the modes and cases it is the reason of."""
    about: dict[str, dict[str, list[str]]] = {}
    for mode, results in row.items():
        for case, result in results:
            if result.verdict not in HOLDS:
                lines = result.reason.splitlines() or [""]
                about.setdefault(lines[0], {}).setdefault(mode, []).append(case)
    for reason, homes in about.items():
        cases = list(dict.fromkeys(case for found in homes.values() for case in found))
        shown = ", ".join(cases[:2]) + (f" and {len(cases) - 2} more" if len(cases) > 2 else "")
        everywhere = all(len(cases) == len(row[mode]) for mode in homes)
        yield f"{', '.join(homes)}{'' if everywhere else f' [{shown}]'}: {reason}"


def _totals(table: dict[_Name, dict[str, list[tuple[str, ModeResult]]]], modes: list[str]) -> Iterator[str]:
    for mode in modes:
        rows = [row[mode] for row in table.values() if mode in row]
        counts = dict.fromkeys((*HOLDS, BREAKS, NOT_RUN), 0)
        partly = 0
        for results in rows:
            counts[verdict(results)] += 1
            some = any(result.verdict in HOLDS for _, result in results)
            partly += verdict(results) not in HOLDS and some
        parts = [f"{count} {name}" for name, count in counts.items() if count]
        also = f"; {partly} of those that do not enter do so in some of their cases" if partly else ""
        yield f"{mode}: {len(rows)} operator{'s' * (len(rows) != 1)}: {', '.join(parts)}{also}"
