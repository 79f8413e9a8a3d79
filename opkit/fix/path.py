"""Reading and writing the file that is mended."""

from __future__ import annotations

import difflib
import io
import os
from pathlib import Path

from opkit.check import is_shown
from opkit.files import unwritable, write_atomically
from opkit.fix.file import Fixed, fix_text


def fix_path(path: Path) -> tuple[str, Fixed]:
    """Give a file's text and what it becomes; codes that are ignored or silenced are left alone.

    A file that cannot be read as text is left to `opkit check`, which says so. Raises OpkitError if a
    pyproject.toml cannot be used.
    """
    try:
        text = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return "", Fixed("")
    return text, fix_text(text, str(path), is_shown(path, text))


def write_fixed(path: Path, text: str) -> None:
    """Replace the file as a whole and keep its permissions. Raises OpkitError."""
    try:
        mode = path.stat().st_mode
        write_atomically(path, text)
        os.chmod(path, mode)
    except OSError as error:
        raise unwritable(path, error) from None


def show_diff(path: Path, before: str, after: str) -> str:
    """Give a unified diff; empty if nothing differs."""
    lines = difflib.unified_diff(_lines(before), _lines(after), str(path), f"{path} (fixed)")
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def _lines(text: str) -> list[str]:
    # str.splitlines would also split at a carriage return and at what only Unicode calls a line.
    return list(io.StringIO(text, newline="\n"))
