"""`opkit audit`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from opkit.audit.protocol import HostReport


@click.command(name="audit")
@click.argument("subjects", nargs=-1, metavar="[torch_npu | FILES]")
@click.option("--host", is_flag=True, help="Compare the rules of FILES with the wheel's compiled host code.")
@click.option("--op", "operators", multiple=True, metavar="NAME", help="Only this operator; may be repeated.")
@click.option("--soc", "socs", multiple=True, metavar="SOC", help="Claim to be this SoC; may be repeated.")
@click.option("--cann", default="8.5.0", show_default=True, metavar="VERSION", help="Claim to be this CANN.")
@click.option("--namespace", default="npu", show_default=True, help="For operators whose `func` names none.")
@click.option("--format", "format_", type=click.Choice(["full", "json"]), default="full", show_default=True)
@click.option("-v", "--verbose", is_flag=True, help="Show the calls that agree, too.")
@click.option("--stand-in", is_flag=True, help="Use the stand-in even where CANN is installed.")
def command(
    subjects: tuple[str, ...],
    host: bool,
    operators: tuple[str, ...],
    socs: tuple[str, ...],
    cann: str,
    namespace: str,
    format_: str,
    verbose: bool,
    stand_in: bool,
) -> None:
    """Ask an installed package's operators which graphs they can enter, or judge rules by its host code."""
    from opkit.errors import OpkitError
    from opkit.prove.plan import InvalidDeclaration

    try:
        report = _judge(
            subjects or ("torch_npu",), operators, socs or ("910B", "950"), cann, namespace, stand_in
        )
    except InvalidDeclaration as error:
        from opkit.report.diagnostics import render

        color = sys.stderr.isatty() and "NO_COLOR" not in os.environ
        click.echo(render(error.diagnostics, "full", color), err=True)
        sys.exit(1)
    except (OpkitError, OSError) as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(2)
    click.echo(_text(report, format_, verbose), nl=False)
    sys.exit(0 if report.agrees else 1)


def _judge(
    subjects: tuple[str, ...],
    operators: tuple[str, ...],
    socs: tuple[str, ...],
    cann: str,
    namespace: str,
    stand_in: bool,
) -> HostReport:
    from opkit.audit.run import judge_host
    from opkit.prove.plan import read
    from opkit.shipped import rule_files, shipped_packages

    paths: list[Path] = []
    for subject in subjects:
        paths += rule_files(subject) if subject in shipped_packages() else [Path(subject)]
    files = [read(str(path.resolve())) for path in paths]
    return judge_host(files, operators, socs, cann, namespace, True if stand_in else None)


def _text(report: HostReport, format_: str, verbose: bool) -> str:
    if format_ == "json":
        import json

        return json.dumps(report.to_json(), indent=2, ensure_ascii=False) + "\n"
    from opkit.report.host import render

    return render(report, verbose)
