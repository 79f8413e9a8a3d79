"""`opkit report`: what is done with the JSON reports of `opkit prove`."""

from __future__ import annotations

import sys

import click

from opkit.cli.proof_output import FORMATS, Output


@click.group(name="report")
def command() -> None:
    """Work with the JSON reports of `opkit prove --format json`."""


@command.command()
@click.argument("reports", nargs=-1, required=True, type=click.Path(dir_okay=False))
@click.option("-o", "--output-file", type=click.Path(dir_okay=False), help="Write the report there.")
@click.option("--format", "format_", type=click.Choice(FORMATS), default="json", show_default=True)
@click.option("--gate", is_flag=True, help="Compare with what `enters:` promises, as `opkit prove --gate`.")
def merge(reports: tuple[str, ...], output_file: str | None, format_: str, gate: bool) -> None:
    """Put REPORTS together into the one that a single run would have given.

    They may be the shards of one proof (`opkit prove --shard 1/4`), or proofs of other operators or modes.
    Files are the same when their paths relative to the directory of the command are, so that each machine may
    have its own checkout.

    Refused are reports of different versions or runtimes, of files that do not hold the same, two results of
    one operator that differ, and shards of which one is missing.

    With --gate the shards are those of `opkit prove --also cache`, in both modes.

    Exit status: as that of the one run, 0 or 1; 2 when they do not go together.
    """
    from opkit.errors import OpkitError
    from opkit.prove.merge import merge as merged
    from opkit.prove.merge import read_report

    output = Output(format_, output_file)
    try:
        output.check()
        proof = merged([read_report(path) for path in reports])
        if gate:
            from opkit.prove.gate import gated

            proof = gated(proof)
        output.write(proof)
    except OpkitError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(2)
    sys.exit(0 if proof.holds else 1)
