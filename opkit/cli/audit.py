"""`opkit audit`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from opkit.audit.findings import Survey
    from opkit.audit.ledger import Difference
    from opkit.audit.protocol import HostReport
    from opkit.audit.run import Progress

_SUBJECT = "torch_npu"
_FORMATS = ("full", "concise", "json", "github", "junit", "sarif")


@dataclass(frozen=True)
class _Output:
    """How a report is written."""

    format_: str
    file: str | None
    verbose: bool

    def write(self, text: str) -> None:
        from opkit.files import write_report

        if self.file is None:
            click.echo(text, nl=False)
        else:
            write_report(Path(self.file), text)


@click.command(name="audit")
@click.argument("subjects", nargs=-1, metavar="[NAMESPACE | LIBRARY.so | PACKAGE | RULE FILES]")
@click.option("--host", is_flag=True, help="Judge rules by the wheel's compiled host code instead.")
@click.option("--op", "operators", multiple=True, metavar="NAME", help="Only this rule; may be repeated.")
@click.option("--soc", "socs", multiple=True, metavar="SOC", help="SoC of the stand-in; may be repeated.")
@click.option("--cann", default=None, metavar="VERSION", help="CANN that the stand-in claims to be.")
@click.option("--ledger", type=click.Path(dir_okay=False), help="Compare with the exceptions recorded there.")
@click.option("--update-ledger", is_flag=True, help="Record what is, in place of comparing.")
@click.option("--format", "format_", type=click.Choice(_FORMATS), default="full", show_default=True)
@click.option("--output-file", type=click.Path(dir_okay=False), default=None, help="Write the report there.")
@click.option("-v", "--verbose", is_flag=True, help="Show every operator, or every call.")
@click.option(
    "--timeout", type=click.FloatRange(min=1), default=120.0, show_default=True, help="Seconds for one call."
)
@click.option("--stand-in", is_flag=True, help="Use the stand-in even where CANN is installed.")
def command(
    subjects: tuple[str, ...],
    host: bool,
    operators: tuple[str, ...],
    socs: tuple[str, ...],
    cann: str | None,
    ledger: str | None,
    update_ledger: bool,
    format_: str,
    output_file: str | None,
    verbose: bool,
    timeout: float,
    stand_in: bool,
) -> None:
    """Ask which graphs the operators of an installed package can enter, or judge rules by its host code.

    \b
    opkit audit                        every operator of torch_npu: Meta kernel, signature, mutation,
                                       converter, kernels; which graphs it can enter, or why not
    opkit audit mylib                  of an installed package, a namespace or a shared library
    opkit audit --ledger known.json    fails when an operator got worse, or a recorded exception is
                                       no longer needed; --update-ledger records what is
    opkit audit --host                 compares opkit's rules for torch_npu with the compiled host code,
                                       call by call; or the rules of FILES

    Exit status: 0 all is well (without a ledger the survey never fails), 1 a rule differs from the host, or
    the ledger from what is, 2 nothing could be asked.
    """
    from opkit.errors import OpkitError
    from opkit.files import check_report
    from opkit.prove.plan import InvalidDeclaration, UnreadableFile

    output = _Output(format_, output_file, verbose)
    use_stand_in = True if stand_in else None
    try:
        if output_file is not None:
            check_report(Path(output_file))
        _check_options(subjects, host, operators, socs, cann, ledger, update_ledger)
        if host:
            report = _judge(subjects, operators, socs, cann, use_stand_in, timeout)
            output.write(_host_text(report, output))
            sys.exit(0 if report.agrees else 1)
        survey = _survey(subjects, socs, use_stand_in, timeout)
        found = _ledger(survey, ledger, update_ledger)
        output.write(_survey_text(survey, output, found))
        sys.exit(1 if found else 0)
    except InvalidDeclaration as error:
        from opkit.report.diagnostics import render

        color = sys.stderr.isatty() and "NO_COLOR" not in os.environ
        click.echo(render(error.diagnostics, "full", color), err=True)
        sys.exit(2 if isinstance(error, UnreadableFile) else 1)
    except (OpkitError, OSError) as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(2)


def _check_options(
    subjects: tuple[str, ...],
    host: bool,
    operators: tuple[str, ...],
    socs: tuple[str, ...],
    cann: str | None,
    ledger: str | None,
    update_ledger: bool,
) -> None:
    """Refuse options that the chosen question has no use for."""
    if host and (ledger or update_ledger):
        raise click.UsageError("--ledger is for the survey; --host keeps none")
    if not host and (operators or cann):
        raise click.UsageError("--op and --cann are for --host")
    if not host and (len(subjects) > 1 or len(socs) > 1):
        raise click.UsageError("the survey takes one subject and one --soc")
    if update_ledger and not ledger:
        raise click.UsageError("--update-ledger wants the file: --ledger FILE")


def _judge(
    subjects: tuple[str, ...],
    operators: tuple[str, ...],
    socs: tuple[str, ...],
    cann: str | None,
    stand_in: bool | None,
    timeout: float,
) -> HostReport:
    from opkit.audit.run import CANN, judge_host
    from opkit.prove.plan import read
    from opkit.shipped import rule_files, shipped_packages

    paths: list[Path] = []
    for subject in subjects or (_SUBJECT,):
        paths += rule_files(subject) if subject in shipped_packages() else [Path(subject)]
    files = [read(str(path.resolve())) for path in paths]
    with _progress("judging") as progress:
        return judge_host(
            files, operators, socs or ("910B", "950"), cann or CANN, "npu", stand_in, timeout, progress
        )


def _survey(
    subjects: tuple[str, ...], socs: tuple[str, ...], stand_in: bool | None, timeout: float
) -> Survey:
    from opkit.audit.survey import survey

    subject, soc = (*subjects, _SUBJECT)[0], (*socs, "910B")[0]
    with _progress("asking") as progress:
        return survey(subject, soc, stand_in, timeout, progress)


def _ledger(survey: Survey, ledger: str | None, update: bool) -> list[Difference]:
    """Record the survey, or compare it with what is recorded; give what differs."""
    from opkit.audit.ledger import differences, read, write

    if ledger is None:
        return []
    path = Path(ledger)
    if update:
        changed = write(path, survey)
        click.echo(f"{path}: {'written' if changed else 'unchanged'}", err=True)
        return []
    found = list(differences(read(path), survey))
    for difference in found:
        click.echo(difference, err=True)
    if found:
        click.echo(f"{len(found)} differences from {path}; --update-ledger records them", err=True)
    return found


def _host_text(report: HostReport, output: _Output) -> str:
    if output.format_ == "json":
        return _json(report.to_json())
    if output.format_ == "full":
        from opkit.report.host import render

        return render(report, output.verbose)
    from opkit.report import audit_ci

    return audit_ci.render(audit_ci.host_rows(report), output.format_, "opkit audit --host")


def _survey_text(survey: Survey, output: _Output, differences: Sequence[Difference]) -> str:
    if output.format_ == "json":
        return _json({**survey.to_json(), "differences": [str(difference) for difference in differences]})
    if output.format_ == "full":
        from opkit.report.survey import render

        return render(survey, verbose=output.verbose)
    from opkit.report import audit_ci

    rows = audit_ci.survey_rows(survey, differences)
    return audit_ci.render(rows, output.format_, f"opkit audit {survey.subject}")


def _json(value: object) -> str:
    import json

    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


@contextmanager
def _progress(verb: str) -> Iterator[Progress | None]:
    """Show a bar on standard error, on a terminal only; CI logs are no place for one."""
    if not sys.stderr.isatty() or os.environ.get("CI"):
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    console = Console(stderr=True)
    bar = Progress(
        TextColumn(verb), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"),
        console=console, transient=True,
    )  # fmt: skip
    with bar:
        task = bar.add_task("starting", total=None)
        yield lambda done, total, what: bar.update(task, completed=done, total=total, description=what)
