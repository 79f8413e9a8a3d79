"""`opkit gen`: write Meta modules, GE converters, IR prototypes and stubs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from opkit.emit.package import Package
    from opkit.model.diagnostic import Diagnostic


class _ToolError(click.ClickException):
    exit_code = 2


@click.command("gen")
@click.argument("yaml_file", type=click.Path(path_type=Path), metavar="OPS.yaml")
@click.option(
    "-o",
    "--output",
    "directory",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    metavar="DIR",
    help="The package's directory.",
)
@click.option(
    "--style",
    type=click.Choice(["library", "custom-op"]),
    default="library",
    show_default=True,
    help="Register through torch.library.Library, or define through custom_op.",
)
@click.option("--namespace", default="npu", show_default=True, help="For operators whose `func` names none.")
@click.option("--no-converters", is_flag=True, help="Leave out the GE converters and prototypes.")
@click.option("--partial", is_flag=True, help="Leave out operators that have no usable rule; exit 1 if any.")
@click.option("--check", is_flag=True, help="Write nothing; exit 1 if the package is not up to date.")
@click.option("--torch-version", help="torch version to generate for, such as 2.13.")
@click.option("--cann-version", help="CANN version to generate for, where a rule depends on it.")
@click.option("--soc-version", help="SoC to generate for, where a rule depends on it.")
@click.pass_context
def command(
    ctx: click.Context,
    yaml_file: Path,
    directory: Path,
    style: str,
    namespace: str,
    no_converters: bool,
    partial: bool,
    check: bool,
    torch_version: str | None,
    cann_version: str | None,
    soc_version: str | None,
) -> None:
    """Write the package of OPS.yaml: Meta kernels, GE converters, IR prototypes and stubs.

    Nothing is written when an operator cannot be generated, unless --partial leaves it out. Operators of
    torch's own (sections `official`, `quant`, `autograd`) need no rule: they are left to torch.
    Exit codes: 0 written or up to date, 1 findings, operators left out or a stale package, 2 usage or tool
    error.
    """
    from opkit.emit.meta_kernel import Options
    from opkit.emit.package import generate
    from opkit.errors import OpkitError
    from opkit.files import unwritable
    from opkit.model.diagnostic import has_errors
    from opkit.read import read_file
    from opkit.shape.scope import Environment

    op_file, diagnostics = read_file(yaml_file, torch_version)
    if op_file is None or has_errors(diagnostics):
        _show(diagnostics)
        ctx.exit(1 if yaml_file.is_file() else 2)
    if not op_file.operators:
        _show(diagnostics)
        wanted = f" for torch {torch_version}" if torch_version else ""
        click.echo(f"error: {yaml_file} declares no operator{wanted}; nothing is written", err=True)
        ctx.exit(1)
    options = Options(namespace, Environment(torch_version, cann_version, soc_version))
    try:
        package = generate(op_file, directory, style, options, not no_converters, partial)
        _show((*diagnostics, *package.diagnostics))
        _summarize(package)
        if not package.files:
            ctx.exit(1)
        if check:
            stale = package.stale(directory)
            for path in stale:
                click.echo(f"stale: {path}")
            ctx.exit(1 if stale or package.left_out else 0)
        written = package.write(directory)
    except OpkitError as error:
        raise _ToolError(str(error)) from None
    except OSError as error:
        raise _ToolError(str(unwritable(directory, error))) from None
    for path in written:
        click.echo(f"wrote {path}")
    if not written:
        click.echo(f"{directory} is up to date")
    ctx.exit(1 if package.left_out else 0)


def _summarize(package: Package) -> None:
    """Say what is not generated: what has no usable rule, and what needs none."""
    count = len(package.left_out)
    if count:
        which = "1 operator has" if count == 1 else f"{count} operators have"
        what = f"left out: {', '.join(package.left_out)}" if package.files else "nothing is written"
        click.echo(f"error: {which} no usable rule; {what}", err=True)
    if count and not package.files:
        click.echo("help: write `meta:` for each, or leave them out with `--partial`", err=True)
    if package.torchs:
        which = "1 operator" if package.torchs == 1 else f"{package.torchs} operators"
        click.echo(f"note: {which} of torch's own without a rule, left to torch", err=True)


def _show(diagnostics: tuple[Diagnostic, ...]) -> None:
    from opkit.report.diagnostics import render

    if diagnostics:
        click.echo(render(diagnostics, "full", False).rstrip("\n"), err=True)
