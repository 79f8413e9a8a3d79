"""The host judge's report for people: a line per operator and SoC, and what differs below it."""

from __future__ import annotations

from collections.abc import Iterator

from opkit.audit.protocol import AGREES, BOTH_RAISE, GOOD, HostReport, Judgement


def render(report: HostReport, verbose: bool = False) -> str:
    """Print the report; `verbose` shows the calls that agree, too."""
    lines = [line for judgement in report.judgements for line in _judgement(judgement, verbose)]
    names = {j.operator for j in report.judgements}
    differing = {j.operator for j in report.judgements if not j.agrees}
    for name in sorted(report.uncompared - differing):
        lines.append(f"{name}: refused every call on every SoC, so nothing was compared")
    elsewhere = report.elsewhere - differing
    good = len(names - differing - report.uncompared - elsewhere)
    socs = list(dict.fromkeys(j.soc for j in report.judgements))
    calls = sum(len(j.comparisons) for j in report.judgements)
    refused = f", {len(elsewhere)} refuse every call as it does" if elsewhere else ""
    lines.append(
        f"{good} of {len(names)} operators agree with the host code{refused} "
        f"({calls} calls; SoC {', '.join(socs)}; runtime: {report.runtime}, torch {report.torch}, "
        f"torch_npu {report.torch_npu})"
    )
    return "\n".join(lines) + "\n"


def _judgement(judgement: Judgement, verbose: bool) -> Iterator[str]:
    counts = judgement.counts
    total = len(judgement.comparisons)
    if judgement.agrees:
        both = f", both raise in {counts[BOTH_RAISE]} of them" if counts[BOTH_RAISE] else ""
        none = f"both raise in each of {total} calls"
        said = f"agrees in {total} calls{both}" if counts[AGREES] else none
        yield f"{judgement.operator} [{judgement.soc}]: {said}"
    else:
        wrong = total - sum(counts[verdict] for verdict in GOOD)
        yield f"{judgement.operator} [{judgement.soc}]: does not agree in {wrong} of {total} calls"
    for comparison in judgement.comparisons:
        if verbose or comparison.verdict not in GOOD:
            yield f"    {comparison.call or 'the rule'}: {comparison.verdict}"
            for who, what in (("host", comparison.host), ("rule", comparison.rule)):
                if what:
                    yield f"        {who}: " + what.replace("\n", "\n              ")
