"""Where the reports of a proof go: screen and files, for `opkit prove` and `opkit report`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from opkit.errors import OpkitError
    from opkit.prove.protocol import Proof

# As in opkit.report.proof_formats, which is not imported for `--help`.
FORMATS = ("full", "table", "concise", "json", "github", "junit", "sarif", "html")
# Those that can hold findings about the YAML in place of a proof.
_OF_FINDINGS = ("concise", "github", "junit", "sarif")


def reports(
    _context: click.Context, _parameter: click.Parameter, value: tuple[str, ...]
) -> tuple[tuple[str, str], ...]:
    """Split each FORMAT:FILE of `--report`."""
    found = []
    for text in value:
        format_, colon, file = text.partition(":")
        if format_ not in FORMATS or not colon or not file:
            raise click.BadParameter(
                f"{text!r} is not FORMAT:FILE, e.g. html:proof.html; the formats are {', '.join(FORMATS)}"
            )
        found.append((format_, file))
    files = [os.path.realpath(file) for _, file in found]
    twice = next((file for file in files if files.count(file) > 1), None)
    if twice is not None:
        raise click.BadParameter(f"two reports would be written to {twice}")
    return tuple(found)


@dataclass(frozen=True)
class Output:
    """What `--format`, `--output-file` and `--report` ask for."""

    format: str = "full"
    file: str | None = None
    reports: tuple[tuple[str, str], ...] = ()

    def check(self) -> None:
        """Find out before the proof whether its reports can be written. Raises OpkitError."""
        from opkit.files import check_report

        for _, file in self._files():
            check_report(Path(file))

    def write(self, proof: Proof) -> None:
        """Write the files, then what belongs on the screen. Raises OpkitError for a file it cannot write."""
        from opkit.files import write_report
        from opkit.report import proof_formats
        from opkit.report.proof import WIDTH

        for format_, file in self._files():
            write_report(Path(file), proof_formats.render(proof, format_))
        # When a file takes what was asked for, people still want to read something.
        format_ = self.format if self.file is None else "full"
        if format_ == "full" and proof.scope.installed:
            format_ = "table"  # Of hundreds of operators nobody reads every stage.
        terminal = sys.stdout.isatty() and format_ in ("full", "table")
        color = terminal and "NO_COLOR" not in os.environ
        width = _columns() if terminal else WIDTH
        click.echo(proof_formats.render(proof, format_, width, color), nl=False, color=color)

    def write_error(self, error: OpkitError | OSError) -> None:
        """Tell machines why nothing was judged, where the report would have been.

        As JSON in any case; in the other formats when it is findings about the YAML.
        """
        from opkit import errors
        from opkit.files import write_report

        if self.file is None and (text := _error_text(error, self.format)):
            click.echo(text, nl=False)
        for format_, file in self._files():
            text = _error_text(error, format_)
            if not text:
                continue
            try:
                write_report(Path(file), text)
            except errors.OpkitError as second:
                if str(second) != str(error):
                    click.echo(f"error: {second}", err=True)

    def _files(self) -> Iterator[tuple[str, str]]:
        if self.file is not None:
            yield self.format, self.file
        yield from self.reports


def _error_text(error: OpkitError | OSError, format_: str) -> str:
    from opkit.prove.plan import InvalidDeclaration
    from opkit.report import diagnostics, proof_json

    if format_ == "json":
        return proof_json.render_error(error)
    if format_ in _OF_FINDINGS and isinstance(error, InvalidDeclaration):
        return diagnostics.render(error.diagnostics, format_)
    return ""


def _columns() -> int:
    import shutil

    return max(60, shutil.get_terminal_size().columns)
