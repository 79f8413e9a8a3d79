"""`opkit import`: write a declaration file for operators that exist."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from opkit.importing import Imported

_NAMESPACE = re.compile(r"torch\.ops\.([A-Za-z_]\w*)")


@click.command("import")
@click.argument("subject", metavar="FILE.cpp | torch.ops.NAMESPACE")
@click.option("-o", "--output", type=click.Path(dir_okay=False), metavar="OPS.yaml", help="Write there.")
@click.option(
    "--load", multiple=True, metavar="LIB.so|MODULE", help="Load this first; may be repeated, torch.ops only."
)
@click.option("--namespace", metavar="NAME", help="What a macro means as a namespace, FILE.cpp only.")
@click.option("--force", is_flag=True, help="Overwrite a file that differs.")
def command(
    subject: str, output: str | None, load: tuple[str, ...], namespace: str | None, force: bool
) -> None:
    """Write the YAML that declares operators that exist, under `custom:`.

    \b
    opkit import ops.cpp -o ops.yaml                what m.def("schema") in TORCH_LIBRARY blocks defines;
                                                    both branches of an #if are read
    opkit import torch.ops.mine --load libmine.so   what is registered, sorted by name

    Exits with 1 if an operator had to be left out or has a warning; the others are written all the same.
    Exits with 2 if nothing could be read or written.
    """
    from opkit.errors import OpkitError

    registered = _NAMESPACE.fullmatch(subject)
    if load and not registered:
        raise click.UsageError("--load is for torch.ops.NAMESPACE")
    if namespace is not None and (registered or not namespace.isidentifier()):
        raise click.UsageError("--namespace is for FILE.cpp, and wants a name")
    try:
        imported = _import(subject, registered, load, namespace)
        _show(imported)
        if not imported.schemas:
            click.echo(f"error: no schema could be imported from {subject}; nothing is written", err=True)
            sys.exit(1)
        _write(imported.to_yaml(), output, force)
    except OpkitError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(2)
    sys.exit(1 if any(d.severity.value != "note" for d in imported.diagnostics) else 0)


def _import(
    subject: str, registered: re.Match[str] | None, load: tuple[str, ...], namespace: str | None
) -> Imported:
    from opkit.importing import import_cpp, import_registered

    return import_registered(registered[1], load) if registered else import_cpp(Path(subject), namespace)


def _show(imported: Imported) -> None:
    import os

    from opkit.report.diagnostics import render

    if imported.diagnostics:
        color = sys.stderr.isatty() and "NO_COLOR" not in os.environ
        click.echo(render(imported.diagnostics, "full", color).rstrip("\n"), err=True)


def _write(text: str, output: str | None, force: bool) -> None:
    """Write the file, unless another one is in its place. Raises OpkitError."""
    from opkit.errors import OpkitError
    from opkit.files import unwritable, write_atomically

    if output is None:
        click.echo(text, nl=False)
        return
    path = Path(output)
    try:
        if path.is_file() and not force and path.read_bytes() != text.encode():
            raise OpkitError(f"{path} is there and differs", "add --force to overwrite it")
        changed = write_atomically(path, text)
    except OSError as error:
        raise unwritable(path, error) from None
    click.echo(f"{path}: {'written' if changed else 'up to date'}", err=True)
