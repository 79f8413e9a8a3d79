"""Writing files so that a reader never sees half of one, and finding the data files that ship with opkit."""

from __future__ import annotations

import errno
import os
import tempfile
from importlib import resources
from pathlib import Path


def write_atomically(path: Path, text: str) -> bool:
    """Write `text` to `path` through a temporary file and a rename; leave an equal file untouched.

    Returns whether the file changed. Parent directories are made. Raises OSError when it cannot be written;
    the old content is then still in place.
    """
    data = text.encode("utf-8")
    try:
        if path.read_bytes() == data:
            return False
    except FileNotFoundError:
        pass
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        # mkstemp makes 0600; a generated source file wants what an editor would have given it.
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    return True


def write_report(path: Path, text: str) -> None:
    """Write a report where the user asked for it, making no directory. Raises OSError."""
    check_report(path)
    write_atomically(path, text)


def check_report(path: Path) -> None:
    """Tell before long work that its report has no place. Raises OSError."""
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such directory", str(path.absolute().parent))


def data_directory(name: str) -> Path:
    """Find a directory of shipped data ("op_templates", "yaml_schemas") in a checkout or an installed wheel.

    Raises FileNotFoundError when the installation is broken.
    """
    package = Path(str(resources.files("opkit")))
    for candidate in (package / "_data" / name, package.parent / name):
        if candidate.is_dir():
            return candidate
    raise FileNotFoundError(f"opkit's data directory {name!r} is missing from this installation ({package})")
