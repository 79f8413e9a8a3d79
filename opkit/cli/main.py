"""The `opkit` command: a table of commands, each imported when it is asked for."""

from __future__ import annotations

import errno
import importlib
import os
import signal
import sys
import threading
from types import FrameType
from typing import Any

import click

from opkit import __version__

# name -> (module, one line for --help). The line is repeated here so that --help imports no command module.
COMMANDS = {
    "check": ("opkit.cli.check", "Find every mistake in operator YAML that can be seen without running."),
    "gen": ("opkit.cli.gen", "Write Meta modules, GE converters, IR prototypes and stubs."),
    "scaffold": ("opkit.cli.scaffold", "Create a complete, tested operator package."),
    "import": ("opkit.cli.importer", "Write the YAML of operators that C++ or an installed package defines."),
    "prove": ("opkit.cli.prove", "Prove that each operator enters the npugraph_ex and GE graphs."),
    "report": ("opkit.cli.report", "Put the reports of several `opkit prove` runs together."),
    "audit": ("opkit.cli.audit", "Ask a whole installed package which operators can enter a graph."),
    "run": ("opkit.cli.run", "Run a script, module or program on this machine's CANN or the stand-in."),
    "env": ("opkit.cli.env", "Print the shell settings that `opkit run` would use."),
    "doctor": ("opkit.cli.doctor", "Tell what this machine has, what is missing and how to mend it."),
    "rules": ("opkit.cli.rules", "List every code that opkit reports."),
    "explain": ("opkit.cli.explain", "Print the page of a diagnostic code."),
}


class LazyGroup(click.Group):
    """A group that imports a command's module only when that command runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Keep the order of the table: the order of a user's work."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Import the command's module and take its `command`."""
        if name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(COMMANDS[name][0]).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; a name that is none gets the nearest one that is."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            import difflib

            close = difflib.get_close_matches(args[0], COMMANDS, 1)
            ctx.fail(f"No such command {args[0]!r}." + (f" Did you mean {close[0]!r}?" if close else ""))
        return super().resolve_command(ctx, args)

    def main(self, *args: Any, **settings: Any) -> Any:
        """Say it when the disk behind the output is full. A closed pipe is left to click."""
        try:
            return super().main(*args, **settings)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            click.echo(f"error: cannot write the output: {error.strerror}", err=True)
            sys.exit(2)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; what a signal ends cleans up and has the exit status that shells expect."""
        try:
            os.getcwd()
        except FileNotFoundError:
            ctx.fail("the current directory has been deleted; change to one that is there")
        main_thread = threading.current_thread() is threading.main_thread()
        before = signal.signal(signal.SIGTERM, _end) if main_thread else None
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            sys.exit(128 + signal.SIGINT)
        finally:
            if main_thread:
                signal.signal(signal.SIGTERM, before)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands from the table, importing none of them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


def _end(number: int, _frame: FrameType | None) -> None:
    """Leave by an exception, so that workers and their folders go with the command."""
    sys.exit(128 + number)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="opkit")
def main() -> None:
    """Take custom Ascend NPU operators into the npugraph_ex and GE graphs, and prove it."""
