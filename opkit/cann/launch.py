"""How another program gets this machine's runtime: the command of `opkit run`, the text of `opkit env`."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from opkit.cann.errors import StandInError
from opkit.cann.load import VARIABLES, bootstrap_directories, stand_in_directories


def program(target: str, arguments: Sequence[str]) -> list[str]:
    """Give the command of a target: a Python script, `-m` with a module, or a program.

    A program beside this Python comes before one on PATH, so that `opkit run pytest` is this environment's
    pytest.

    Raises:
        StandInError: there is no such file or program.
    """
    if target == "-m":
        if not arguments:
            raise StandInError("-m needs the name of a module", "opkit run -m package.module [arguments]")
        return [sys.executable, "-m", *arguments]
    if target.endswith(".py"):
        if not Path(target).is_file():
            raise StandInError(f"no such file: {target}", "give the path of a Python script")
        return [sys.executable, target, *arguments]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    found = shutil.which(target, path=path)
    if found is None:
        raise StandInError(
            f"no such script or program: {target}", "give a .py file, -m MODULE or a program on PATH"
        )
    return [found, *arguments]


def shell_exports(environment: Mapping[str, str]) -> list[str]:
    """Give the shell lines that set the variables."""
    return [f"export {name}={shlex.quote(value)}" for name, value in sorted(environment.items())]


def shell_unsets() -> list[str]:
    """Give the shell lines that take back what `shell_exports` set, leaving the rest of the search paths."""
    lines = [f"unset {name}" for name in VARIABLES]
    for variable, ours in (("LD_LIBRARY_PATH", stand_in_directories), ("PYTHONPATH", bootstrap_directories)):
        entries = [entry for entry in os.environ.get(variable, "").split(":") if entry]
        rest = [entry for entry in entries if entry not in ours(entries)]
        lines.append(f"export {variable}={shlex.quote(':'.join(rest))}" if rest else f"unset {variable}")
    return lines
