"""`opkit run`: any script, module or program on this machine's CANN or the stand-in."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--soc", help="SoC that the stand-in claims to be, such as 910B or Ascend910B2.")
@click.option(
    "--stand-in/--no-stand-in", default=None, help="Use the stand-in (or CANN) whatever is installed."
)
@click.option(
    "--register",
    "register",
    multiple=True,
    metavar="WHAT",
    help="Register Meta kernels when torch_npu is imported: `torch_npu` for opkit's rules, or a YAML file.",
)
@click.option("--replace", is_flag=True, help="With --register: replace Meta kernels that are there.")
@click.option("-m", "module", is_flag=True, help="The target is a Python module.")
@click.argument("target")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(
    soc: str | None,
    stand_in: bool | None,
    register: tuple[str, ...],
    replace: bool,
    module: bool,
    target: str,
    arguments: tuple[str, ...],
) -> None:
    """Run TARGET with CANN's libraries, real or stood in for.

    TARGET is a Python script, a module after -m, or a program such as pytest. Nothing else about it changes:
    its arguments, input, output and exit code are its own. With --register, fake tensors and graphs meet
    opkit's Meta kernels where torch_npu has none or a wrong one.
    """
    from opkit.cann.launch import program
    from opkit.cann.load import runtime_environment
    from opkit.errors import OpkitError
    from opkit.registration import on_import

    if replace and not register:
        raise click.UsageError("--replace says what --register does, and there is no --register")
    try:
        words = program("-m", [target, *arguments]) if module else program(target, arguments)
        environment = {**os.environ, **runtime_environment(stand_in, soc)}
        if register:
            environment |= on_import.environment(on_import.checked(register, Path.cwd()), replace)
    except OpkitError as error:
        click.echo(f"error: {error}", err=True)
        raise SystemExit(2) from None
    sys.stdout.flush()
    os.execvpe(words[0], words, environment)
