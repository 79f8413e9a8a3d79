"""`opkit rules`: every code opkit can report."""

from __future__ import annotations

import click


@click.command("rules")
@click.option("--format", "format_", type=click.Choice(("text", "json")), default="text", show_default=True)
def command(format_: str) -> None:
    """List every code: what a finding weighs, and what it means.

    `opkit explain CODE` prints the page of one; `ignore` under `[tool.opkit]` in pyproject.toml, or a comment
    `# opkit: ignore[CODE]` at an entry, silences it.
    """
    from opkit.rules.pages import PAGES, severities, title

    if format_ == "json":
        import json

        rules = [
            {"code": code, "name": module[7:], "severity": list(severities(code)), "title": title(code)}
            for code, module in PAGES.items()
        ]
        click.echo(json.dumps(rules, indent=2))
        return
    for code in PAGES:
        click.echo(f"{code}  {', '.join(severities(code)):<20}  {title(code)}")
