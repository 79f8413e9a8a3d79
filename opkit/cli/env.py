"""`opkit env`: the shell settings that `opkit run` would use."""

from __future__ import annotations

import click


@click.command()
@click.option("--soc", help="SoC that the stand-in claims to be, such as 910B or Ascend910B2.")
@click.option(
    "--stand-in/--no-stand-in", default=None, help="Use the stand-in (or CANN) whatever is installed."
)
@click.option("--unset", is_flag=True, help="Print what takes the settings back.")
def command(soc: str | None, stand_in: bool | None, unset: bool) -> None:
    """Print shell settings for this machine's CANN or the stand-in.

    \b
      eval "$(opkit env)"           from now on, `import torch` works in this shell
      eval "$(opkit env --unset)"   take the settings back
    """
    from opkit.cann.launch import shell_exports, shell_unsets
    from opkit.cann.load import runtime_environment
    from opkit.errors import OpkitError

    try:
        lines = shell_unsets() if unset else shell_exports(runtime_environment(stand_in, soc))
    except OpkitError as error:
        click.echo(f"error: {error}", err=True)
        raise SystemExit(2) from None
    for line in lines:
        click.echo(line)
