"""`opkit scaffold`: create a complete, tested operator package."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from opkit.model.diagnostic import Diagnostic


class _ToolError(click.ClickException):
    exit_code = 2


@click.command("scaffold")
@click.argument("name", metavar="[NAMESPACE::]NAME")
@click.option("--schema", help='For example "my_op(Tensor x, Tensor? y, float eps=1e-6) -> Tensor".')
@click.option("--in-place", is_flag=True, help="The operator writes its first argument.")
@click.option(
    "--style",
    type=click.Choice(["library", "custom-op"]),
    default="library",
    show_default=True,
    help="Register through torch.library.Library, as op-plugin operators need, or define through custom_op.",
)
@click.option("--namespace", help="Default: npu, and mylib for the custom-op style.")
@click.option(
    "-o", "--output", "directory", type=click.Path(path_type=Path), help="The new directory. Default: ./NAME"
)
@click.pass_context
def command(
    ctx: click.Context,
    name: str,
    schema: str | None,
    in_place: bool,
    style: str,
    namespace: str | None,
    directory: Path | None,
) -> None:
    """Create an operator package: declaration, Meta kernel, GE converter, IR prototype, tests, examples.

    Its tests pass as they are. Exit codes: 0 created, 1 a mistake in the name or the schema, 2 usage or tool
    error.
    """
    from opkit.errors import OpkitError
    from opkit.files import unwritable
    from opkit.scaffold.answers import check_answers, check_directory
    from opkit.scaffold.create import ScaffoldFailed, create

    answers, diagnostics = check_answers(name, schema, in_place, style, namespace)
    _show(diagnostics, schema or "")
    if answers is None:
        ctx.exit(1)
    target = directory or Path(answers.name)
    hidden = check_directory(target.resolve().name)
    if hidden:
        _show(hidden, schema or "")
        ctx.exit(1)
    try:
        files = create(answers, target)
    except ScaffoldFailed as error:
        _show(error.diagnostics, schema or "")
        ctx.exit(1)
    except OpkitError as error:
        raise _ToolError(str(error)) from None
    except OSError as error:
        raise _ToolError(str(unwritable(target, error))) from None
    for path in files:
        click.echo(f"wrote {path}")
    click.echo(f"\nnext: cd {target} && pytest")


def _show(diagnostics: Iterable[Diagnostic], schema: str) -> None:
    """Print findings about the command line: no file holds the text, so the schema itself is the excerpt."""
    for found in diagnostics:
        click.echo(f"{found.code} {found.severity.value}: {found.message}", err=True)
        mark = found.mark
        if mark is not None and mark.file == "<schema>" and "\n" not in schema and schema:
            click.echo(f"  | {schema}\n  | {' ' * (mark.column - 1)}{'^' * mark.length}", err=True)
        if found.help:
            click.echo(f"  help: {found.help}", err=True)
