"""An audit as text: what stands in the way, reason by reason, with the operators of each; then the totals."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from opkit.audit.findings import CAN, GRAPHS, Finding, Survey

WIDTH = 100
# Names shown for a reason: `-v` has them all.
MOST = 12


def render(survey: Survey, width: int = WIDTH, verbose: bool = False) -> str:
    """Print the report; `verbose` adds a line per operator."""
    lines = [line for finding in survey.findings for line in _operator(finding)] if verbose else []
    for graph in GRAPHS:
        lines += _graph(survey, graph, width)
    lines += [f"note: {problem}" for problem in survey.problems]
    lines += _totals(survey)
    return "\n".join(lines) + "\n"


def _operator(finding: Finding) -> Iterator[str]:
    rule = ", opkit has a rule" if finding.rule else ""
    yield f"{finding.name}: Meta {finding.meta}{rule}; converter {finding.converter}; kernel {finding.kernel}"
    for graph, verdict in finding.graphs.items():
        yield f"    {graph}: {verdict}"
    for difference in finding.signature:
        yield f"    Meta kernel: {difference}"


def _graph(survey: Survey, graph: str, width: int) -> Iterator[str]:
    """Group the operators by reason; what follows a colon is about one operator, and `-v` shows it."""
    groups: dict[tuple[str, str], list[str]] = {}
    for finding in survey.findings:
        verdict = finding.graphs[graph]
        if verdict.verdict != CAN or verdict.reason:
            reason = verdict.reason.split(": ")[0].split(" (")[0]
            groups.setdefault((verdict.verdict, reason), []).append(finding.name)
    yield f"{graph}"
    order = ("can enter", "unknown", "cannot")
    for (kind, reason), names in sorted(groups.items(), key=lambda g: (order.index(g[0][0]), -len(g[1]))):
        yield f"  {len(names)} {kind}: {reason}" if kind != CAN else f"  {len(names)} {kind} {reason}"
        shown = names if len(names) <= MOST + 1 else [*names[:MOST], f"and {len(names) - MOST} more (-v)"]
        yield textwrap.fill(", ".join(shown), width, initial_indent="      ", subsequent_indent="      ")


def _totals(survey: Survey) -> Iterator[str]:
    for graph, counts in survey.totals().items():
        numbers = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
        yield f"{graph}: {numbers}"
    mine = sum(1 for finding in survey.findings if finding.meta == "none" and finding.rule)
    without = sum(1 for finding in survey.findings if finding.meta == "none")
    where = f"runtime: {survey.runtime}, torch {survey.torch}, torch_npu {survey.torch_npu}, {survey.soc}"
    yield (
        f"{len(survey.findings)} operator{'s' * (len(survey.findings) != 1)} of {survey.subject}, "
        f"{without} without a Meta kernel, "
        f"for {mine} of these opkit has a rule ({where})"
    )
