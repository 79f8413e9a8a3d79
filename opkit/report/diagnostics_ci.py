"""Findings for CI systems: JUnit XML and SARIF 2.1.0."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import PurePath
from xml.sax.saxutils import escape, quoteattr

from opkit import __version__
from opkit.model.diagnostic import Diagnostic, Mark, Severity

# Characters XML 1.0 cannot hold at all.
_NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SARIF_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}


def junit(diagnostics: Sequence[Diagnostic]) -> str:
    """One test case per finding; errors and warnings fail, notes pass. No finding: one case that passes."""
    failures = sum(d.severity is not Severity.NOTE for d in diagnostics)
    cases = [_case(d) for d in diagnostics] or ['  <testcase classname="opkit" name="check"/>\n']
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        f'<testsuite name="opkit check" tests="{len(cases)}" failures="{failures}" errors="0" skipped="0">\n'
        f"{''.join(cases)}</testsuite>\n"
    )


def _case(d: Diagnostic) -> str:
    # The place stands in the name: the schema Jenkins goes by has no attribute for it.
    name = _xml(" ".join(str(part) for part in (d.code, d.operator, d.mark or "") if part))
    text = f"{d.mark or ''}: {d.message}" + (f"\nhelp: {d.help}" if d.help else "")
    head = f'  <testcase classname="opkit.{d.code}" name={quoteattr(name)}>'
    if d.severity is Severity.NOTE:
        return f"{head}<system-out>{escape(_xml(text))}</system-out></testcase>\n"
    failure = f"<failure type={quoteattr(d.severity.value)} message={quoteattr(_xml(d.message))}>"
    return f"{head}{failure}{escape(_xml(text))}</failure></testcase>\n"


def _xml(text: str) -> str:
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)


def sarif(diagnostics: Sequence[Diagnostic]) -> str:
    """SARIF, as GitHub code scanning, Gitee and IDEs read it."""
    codes = sorted({d.code for d in diagnostics})
    driver = {"name": "opkit", "version": __version__, "rules": [{"id": code} for code in codes]}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(d, codes.index(d.code)) for d in diagnostics],
    }
    document = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [run],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _result(d: Diagnostic, rule_index: int) -> dict[str, object]:
    text = f"{d.message}\nhelp: {d.help}" if d.help else d.message
    result: dict[str, object] = {
        "ruleId": d.code,
        "ruleIndex": rule_index,
        "level": _SARIF_LEVELS[d.severity],
        "message": {"text": text},
        "locations": [_location(d.mark)] if d.mark else [],
    }
    if d.related:
        result["relatedLocations"] = [
            {**_location(mark), "message": {"text": text}} for text, mark in d.related
        ]
    return result


def _location(mark: Mark) -> dict[str, object]:
    path = PurePath(mark.file)
    uri = path.as_uri() if path.is_absolute() else path.as_posix()
    region = {"startLine": mark.line, "startColumn": mark.column, "endColumn": mark.column + mark.length}
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}}
