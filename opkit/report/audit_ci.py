"""Both reports of `opkit audit` for CI systems: lines, GitHub annotations, JUnit XML and SARIF.

A finding fails (error, `<failure>`) exactly where the command exits with 1: a rule that differs from the
host, or an operator that differs from the ledger. What else cannot enter a graph is a note, and skipped.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from opkit.audit.findings import CAN, CANNOT, Survey
from opkit.audit.ledger import Difference
from opkit.audit.protocol import GOOD, HostReport, Judgement
from opkit.model.diagnostic import Diagnostic, Mark, Severity
from opkit.report import diagnostics

FORMATS = ("full", "concise", "json", "github", "junit", "sarif")
# Characters XML 1.0 cannot hold at all.
_NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Row:
    """One thing that was asked: what about, and how it came out."""

    # Like a class and a test of it.
    group: str
    name: str
    # "passed", "failed" or "skipped".
    outcome: str
    # Kind of finding, such as "host-differs"; "" for what passed.
    code: str = ""
    text: str = ""
    mark: Mark | None = None


def survey_rows(survey: Survey, differences: Sequence[Difference] = ()) -> list[Row]:
    """List each operator and graph, and what a ledger says about operators that are gone."""
    failed = {(d.operator, d.graph): d for d in differences}
    rows = []
    for finding in survey.findings:
        for graph, verdict in finding.graphs.items():
            difference = failed.pop((finding.name, graph), None)
            if difference is not None:
                rows.append(Row(finding.name, graph, "failed", "ledger-differs", difference.text))
            elif verdict.verdict == CAN:
                rows.append(Row(finding.name, graph, "passed", "", verdict.reason))
            else:
                code = "cannot-enter" if verdict.verdict == CANNOT else "unknown"
                rows.append(Row(finding.name, graph, "skipped", code, str(verdict)))
    rows += [Row(d.operator, d.graph, "failed", "ledger-differs", d.text) for d in failed.values()]
    rows += [Row(survey.subject, "workers", "skipped", "not-asked", text) for text in survey.problems]
    return rows


def host_rows(report: HostReport) -> list[Row]:
    """List each call of host and rule, and operators of which nothing could be compared."""
    rows = [row for judgement in report.judgements for row in _calls(judgement)]
    differing = {j.operator for j in report.judgements if not j.agrees}
    for judgement in {j.operator: j for j in report.judgements}.values():
        if judgement.operator in report.uncompared - differing:
            text = "refused every call on every SoC, so nothing was compared"
            rows.append(Row(judgement.operator, "compared", "failed", "not-compared", text, _mark(judgement)))
    return rows


def _calls(judgement: Judgement) -> Iterator[Row]:
    group, mark = f"{judgement.operator} [{judgement.soc}]", _mark(judgement)
    if not judgement.comparisons:
        yield Row(group, "the rule", "failed", "not-compared", "no call was made", mark)
    for comparison in judgement.comparisons:
        name = comparison.call or "the rule"
        if comparison.verdict in GOOD:
            yield Row(group, name, "passed", "", comparison.verdict)
        else:
            said = [
                f"{who}: {what}"
                for who, what in (("host", comparison.host), ("rule", comparison.rule))
                if what
            ]
            text = "\n".join([comparison.verdict, *said])
            yield Row(group, name, "failed", comparison.verdict.replace(" ", "-"), text, mark)


def _mark(judgement: Judgement) -> Mark:
    return Mark(judgement.file, judgement.line, 1)


def render(rows: Sequence[Row], format_: str, suite: str) -> str:
    """Print rows as "concise", "github", "junit" or "sarif"; `suite` names what was asked."""
    if format_ == "junit":
        return _junit(rows, suite)
    if format_ == "concise":
        return "".join(
            f"{_place(row)}{row.group}: {row.name}: {_line(row.text)}\n" for row in rows if row.code
        )
    return diagnostics.render([_diagnostic(row) for row in rows if row.code], format_)


def _place(row: Row) -> str:
    return f"{row.mark}: " if row.mark else ""


def _line(text: str) -> str:
    return "; ".join(text.splitlines())


def _diagnostic(row: Row) -> Diagnostic:
    severity = Severity.ERROR if row.outcome == "failed" else Severity.NOTE
    operator = row.group.split(" ")[0]
    return Diagnostic(row.code, severity, f"{row.group}: {row.name}: {row.text}", row.mark, operator=operator)


def _junit(rows: Sequence[Row], suite: str) -> str:
    counts = {outcome: sum(row.outcome == outcome for row in rows) for outcome in ("failed", "skipped")}
    root = ElementTree.Element(
        "testsuite", name=suite, tests=str(len(rows)), failures=str(counts["failed"]), errors="0",
        skipped=str(counts["skipped"]),
    )  # fmt: skip
    for row in rows:
        case = ElementTree.SubElement(root, "testcase", classname=_xml(row.group), name=_xml(row.name))
        if row.mark is not None:
            case.set("file", row.mark.file)
            case.set("line", str(row.mark.line))
        if row.outcome == "failed":
            failure = ElementTree.SubElement(
                case, "failure", type=row.code, message=_xml(row.text.splitlines()[0])
            )
            failure.text = _xml(row.text)
        elif row.outcome == "skipped":
            ElementTree.SubElement(case, "skipped", message=_xml(_line(row.text)))
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def _xml(text: str) -> str:
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
