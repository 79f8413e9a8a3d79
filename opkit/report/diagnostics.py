"""Findings as text: for people, for tools, for CI systems."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Callable

from opkit.model.diagnostic import Diagnostic, Mark, Severity

FORMATS = ("full", "concise", "json", "github", "junit", "sarif")


def render(diagnostics: Sequence[Diagnostic], format: str = "full", color: bool = False) -> str:
    """Render findings in one of FORMATS. Only "full" reads the source files, for excerpts.

    Raises ValueError for an unknown format. The text ends with a newline unless it is empty.
    """
    if format in ("full", "concise"):
        from opkit.report import diagnostics_text

        return diagnostics_text.render(diagnostics, format, color)
    if format in ("junit", "sarif"):
        from opkit.report import diagnostics_ci

        return diagnostics_ci.junit(diagnostics) if format == "junit" else diagnostics_ci.sarif(diagnostics)
    renderers: dict[str, Callable[[Sequence[Diagnostic]], str]] = {"json": _json, "github": _github}
    if format not in renderers:
        raise ValueError(f"unknown format {format!r}; formats: {', '.join(FORMATS)}")
    return renderers[format](diagnostics)


def _json(diagnostics: Sequence[Diagnostic]) -> str:
    findings = [
        {
            "code": d.code,
            "severity": d.severity.value,
            "message": d.message,
            "help": d.help,
            "operator": d.operator,
            "location": _location(d.mark),
            "related": [{"message": text, "location": _location(mark)} for text, mark in d.related],
        }
        for d in diagnostics
    ]
    return json.dumps(findings, indent=2, ensure_ascii=False) + "\n"


def _location(mark: Mark | None) -> dict[str, object] | None:
    if mark is None:
        return None
    return {
        "file": mark.file,
        "line": mark.line,
        "column": mark.column,
        "end_column": mark.column + mark.length,
    }


_GITHUB_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def _github(diagnostics: Sequence[Diagnostic]) -> str:
    """Workflow commands of GitHub Actions, which shows them at the line in a pull request."""
    lines = []
    for d in diagnostics:
        properties = {"title": d.code}
        if d.mark:
            properties = {
                "file": d.mark.file,
                "line": str(d.mark.line),
                "col": str(d.mark.column),
                "endColumn": str(d.mark.column + d.mark.length),
                **properties,
            }
        text = f"{d.message}\nhelp: {d.help}" if d.help else d.message
        listed = ",".join(
            f"{k}={_escape(v).replace(':', '%3A').replace(',', '%2C')}" for k, v in properties.items()
        )
        lines.append(f"::{_GITHUB_LEVELS[d.severity]} {listed}::{_escape(text)}\n")
    return "".join(lines)


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
