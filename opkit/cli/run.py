"""`opkit run`: any script, module or program on this machine's CANN or the stand-in."""

from __future__ import annotations

import os
import sys

import click


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--soc", help="SoC that the stand-in claims to be, such as 910B or Ascend910B2.")
@click.option(
    "--stand-in/--no-stand-in", default=None, help="Use the stand-in (or CANN) whatever is installed."
)
@click.option("-m", "module", is_flag=True, help="The target is a Python module.")
@click.argument("target")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(
    soc: str | None, stand_in: bool | None, module: bool, target: str, arguments: tuple[str, ...]
) -> None:
    """Run TARGET with CANN's libraries, real or stood in for.

    TARGET is a Python script, a module after -m, or a program such as pytest. Nothing else about it changes:
    its arguments, input, output and exit code are its own.
    """
    from opkit.cann.launch import program
    from opkit.cann.load import runtime_environment
    from opkit.errors import OpkitError

    try:
        words = program("-m", [target, *arguments]) if module else program(target, arguments)
        environment = {**os.environ, **runtime_environment(stand_in, soc)}
    except OpkitError as error:
        click.echo(f"error: {error}", err=True)
        raise SystemExit(2) from None
    sys.stdout.flush()
    os.execvpe(words[0], words, environment)
