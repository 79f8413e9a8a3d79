"""`opkit check`: every mistake in operator YAML that can be seen without running."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from opkit.model.diagnostic import Diagnostic

FORMATS = ("full", "concise", "json", "github", "junit", "sarif")


def _print_schema(context: click.Context, _option: click.Parameter, asked: bool) -> None:
    """Print the JSON Schema and leave."""
    if not asked:
        return
    from opkit.files import data_directory

    click.echo(
        (data_directory("yaml_schemas") / "op_plugin.schema.json").read_text(encoding="utf-8"), nl=False
    )
    context.exit()


@click.command("check")
@click.argument("files", nargs=-1, required=True, metavar="FILES...")
@click.option("--format", "format_", type=click.Choice(FORMATS), default="full", show_default=True)
@click.option("--output-file", type=click.Path(dir_okay=False), help="Write the findings to this file.")
@click.option("--fix", is_flag=True, help="Put right what is mechanical, then check; changes schemas only.")
@click.option("--diff", is_flag=True, help="Show what --fix would change, and change nothing.")
@click.option(
    "--print-schema",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_schema,
    help="Print the JSON Schema of the YAML, for completion in an editor, and exit.",
)
@click.option("--torch-version", metavar="X.Y", help="Check the operators of this torch version only.")
@click.option(
    "--against",
    "sources",
    multiple=True,
    metavar="SOURCE",
    help="Compare with hand-written kernels and converters: a Python or C++ file, a directory or a module. "
    "Can be given several times; the sources are read, never imported.",
)
def command(
    files: tuple[str, ...],
    format_: str,
    output_file: str | None,
    fix: bool,
    diff: bool,
    torch_version: str | None,
    sources: tuple[str, ...],
) -> None:
    """Find every mistake in operator YAML that can be seen without running.

    --fix mends the spacing of schemas, gives `Tensor!` a letter, and writes `-> None` as `-> ()` and the
    default of an int as an int. Comments, quotes and line ends stay as they are.

    Exits with 1 if there is an error or a warning (notes do not count), with 2 if a file cannot be read.
    """
    import gc

    # All that is read is alive to the end; looking for garbage in it costs a quarter of the time.
    gc.disable()

    from opkit.check import UNREADABLE, check_path
    from opkit.errors import OpkitError
    from opkit.report.diagnostics import render

    if torch_version is not None and not _is_version(torch_version):
        raise click.BadParameter(
            f"{torch_version!r} is no torch version, e.g. 2.13", param_hint="--torch-version"
        )
    diagnostics: list[Diagnostic] = []
    try:
        if diff:
            sys.exit(_show_fixes(files))
        if fix:
            _fix(files)
        for file in files:
            diagnostics += check_path(file, torch_version)
        if sources:
            diagnostics += _compare(files, sources, torch_version)
    except OpkitError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(2)
    # Nor is anything looked for at the end, when all goes with the process.
    gc.freeze()
    text = render(diagnostics, format_, color=output_file is None and _color())
    if output_file is None:
        click.echo(text, nl=False)
    else:
        _write(output_file, text)
    if format_ in ("full", "concise"):
        click.echo(_summary(diagnostics, len(files)), err=True)
    if any(d.code == UNREADABLE for d in diagnostics):
        sys.exit(2)
    sys.exit(1 if any(d.severity.value != "note" for d in diagnostics) else 0)


def _fix(files: tuple[str, ...]) -> None:
    """Mend the files and say what was done."""
    from opkit.fix import fix_path, write_fixed

    count = 0
    for path in map(Path, files):
        before, fixed = fix_path(path)
        if fixed.text != before:
            write_fixed(path, fixed.text)
        for done in fixed.fixes:
            click.echo(f"{done.mark}: fixed {done.code} {done.operator}: {done.what}", err=True)
        count += len(fixed.fixes)
    click.echo(f"{count} fixed" if count else "nothing to fix", err=True)


def _show_fixes(files: tuple[str, ...]) -> int:
    """Print what would be mended; 1 if there is anything."""
    from opkit.fix import fix_path, show_diff

    found = 0
    for path in map(Path, files):
        before, fixed = fix_path(path)
        click.echo(show_diff(path, before, fixed.text), nl=False)
        found += len(fixed.fixes)
    return 1 if found else 0


def _compare(files: tuple[str, ...], sources: tuple[str, ...], torch_version: str | None) -> list[Diagnostic]:
    from opkit.against import compare
    from opkit.check import ignored_codes
    from opkit.read import read_file

    op_files = [op_file for file in files if (op_file := read_file(file, torch_version)[0]) is not None]
    ignored = {code for file in files for code in ignored_codes(Path(file))}
    return [d for d in compare(op_files, sources) if d.code not in ignored]


def _is_version(text: str) -> bool:
    parts = text.lstrip("v").partition("+")[0].split(".")
    return len(parts) >= 2 and all(part.isdigit() for part in parts[:2])


def _color() -> bool:
    import os

    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def _write(path: str, text: str) -> None:
    from opkit.errors import OpkitError
    from opkit.files import write_report

    try:
        write_report(Path(path), text)
    except OpkitError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(2)


def _summary(diagnostics: list[Diagnostic], files: int) -> str:
    counts = [
        f"{n} {name}{'s' * (n != 1)}"
        for name in ("error", "warning", "note")
        if (n := sum(d.severity.value == name for d in diagnostics))
    ]
    found = ", ".join(counts) if counts else "no findings"
    return f"{found} in {files} file{'s' * (files != 1)}"
