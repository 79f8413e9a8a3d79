"""What all results of this machine depend on, as a digest: opkit, the wheels, the stand-in. No torch."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import opkit
from opkit.cann.build import library_directory
from opkit.cann.load import choose_stand_in
from opkit.cann.settings import read_settings
from opkit.cann.wheels import find_wheels
from opkit.files import data_directory

# Variables that say nothing about a proof: of the terminal, the session and the CI job.
_NO_MATTER = frozenset(
    {"_", "COLUMNS", "LINES", "PWD", "OLDPWD", "SHLVL", "TERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION"}
    | {"COLORTERM", "NO_COLOR", "FORCE_COLOR", "DISPLAY", "WINDOWID", "LS_COLORS", "PS1", "MAIL", "EDITOR"}
    | {"PAGER", "LESS", "LESSOPEN", "LOGNAME", "USER", "CI", "OPKIT_CACHE_DIR", "TMPDIR", "HISTFILE"}
    | {"HISTSIZE", "INVOCATION_ID"}
)
_NO_MATTER_PREFIXES = ("SSH_", "XDG_", "DBUS_", "TMUX", "GITHUB_", "RUNNER_", "CI_", "PYTEST_", "VSCODE_")
_OF_THE_PROCESSOR = ("model name", "flags", "Features", "CPU part")


def environment(stand_in: bool | None) -> str | None:
    """Digest versions, files of the wheels, opkit's own text, the stand-in and the variables.

    None for a real CANN. Raises what `choose_stand_in`, `find_wheels` and `library_directory` raise.
    """
    if not choose_stand_in(stand_in):
        return None
    wheels, settings = find_wheels(), read_settings()
    parts = [
        sys.version,
        platform.platform(),
        _processor(),
        json.dumps(settings.environment(), sort_keys=True),
        str(library_directory(wheels, settings.kernels)),
        repr(sorted(_variables())),
        repr([sorted(_names(Path(directory))) for directory in sys.path if directory]),
        *_texts(Path(opkit.__file__).parent),
        *_texts(data_directory("yaml_schemas")),
        *(entry for wheel in (wheels.torch, wheels.torch_npu) for entry in _stamps(wheel.directory)),
    ]
    return sha256("\0".join(parts).encode()).hexdigest()


def _processor() -> str:
    """Name the processor: kernels of torch choose their instructions by it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return repr(
        [line for line in lines if line.startswith(("model name", "flags", "Features", "CPU part"))][:2]
    )


def _variables() -> Iterator[tuple[str, str]]:
    for name, value in os.environ.items():
        if name not in _NO_MATTER and not name.startswith(_NO_MATTER_PREFIXES):
            yield name, value


def _names(directory: Path) -> Iterator[str]:
    """List what is installed in a directory: the names of metadata hold the versions."""
    try:
        yield from (entry.name for entry in directory.iterdir() if entry.suffix in (".dist-info", ".pth"))
    except OSError:
        return


def _texts(directory: Path) -> Iterator[str]:
    """Digest the files that opkit is made of."""
    for path in sorted(directory.rglob("*")):
        if path.is_file() and path.suffix not in (".pyc", ".pyo"):
            yield f"{path.relative_to(directory)} {sha256(path.read_bytes()).hexdigest()}"


def _stamps(directory: Path) -> Iterator[str]:
    """List a wheel's files with size and time: an edit in place shows, and reading all would take minutes."""
    for folder, folders, names in os.walk(directory):
        folders[:] = sorted(name for name in folders if name not in ("__pycache__", "include", "test"))
        for entry in sorted(names):
            status = os.stat(os.path.join(folder, entry))
            yield f"{folder}/{entry} {status.st_size} {status.st_mtime_ns}"
