"""`opkit doctor`: what this machine has, what is missing and the command that mends it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from opkit.cann.inspection import Finding


@click.command()
@click.option(
    "--format", "format_", type=click.Choice(["full", "json"]), default="full", help="Form of the report."
)
def command(format_: str) -> None:
    """Tell what this machine has for running operators, and what is missing.

    Exits with 1 if something is missing that is needed.
    """
    from opkit.cann.inspection import inspect_machine

    findings = inspect_machine()
    missing = any(finding.status == "missing" for finding in findings)
    if format_ == "json":
        import json
        from dataclasses import asdict

        click.echo(json.dumps({"ok": not missing, "findings": [asdict(f) for f in findings]}, indent=2))
    else:
        _print(findings)
    raise SystemExit(1 if missing else 0)


def _print(findings: list[Finding]) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    marks = {"ok": ("ok", "green"), "note": ("note", "yellow"), "missing": ("missing", "bold red")}
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        mark, style = marks[finding.status]
        console.print(
            Text.assemble(f"{finding.name:<{width}}  ", (f"{mark:<7}", style), f"  {finding.value}")
        )
        if finding.fix:
            console.print(Text.assemble(" " * (width + 2), ("help", "bold"), f"     {finding.fix}"))
