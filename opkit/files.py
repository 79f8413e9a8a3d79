"""Writing files so that a reader never sees half of one, and finding the data files that ship with opkit."""

from __future__ import annotations

import errno
import hashlib
import os
import tempfile
from importlib import resources
from pathlib import Path

from opkit.errors import OpkitError

_UNWRITABLE = {
    errno.ENOENT: "make the directory first, or choose another place",
    errno.EACCES: "choose a place you may write to",
    errno.EPERM: "choose a place you may write to",
    errno.EROFS: "choose a place you may write to",
    errno.ENOSPC: "free some space there, or choose another place",
    errno.ENOTDIR: "a file stands where a directory is meant: choose another place",
    errno.EISDIR: "a directory has that name: choose another",
}


def write_atomically(path: Path, text: str) -> bool:
    """Write `text` to `path` through a temporary file and a rename; leave an equal file untouched.

    Returns whether the file changed. Parent directories are made. A link stays one: its target is written.
    Raises OSError when it cannot be written; the old content is then still in place.
    """
    data = text.encode("utf-8")
    path = path.resolve() if path.is_symlink() else path
    if path.exists() and not path.is_file():
        # A terminal, a pipe or /dev/null cannot be renamed over; a directory refuses to be opened.
        with path.open("wb") as stream:
            stream.write(data)
        return True
    try:
        if path.read_bytes() == data:
            return False
    except FileNotFoundError:
        pass
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        error.filename = str(path)  # Nobody asked for the temporary file.
        raise
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
    """Write a report where the user asked for it, making no directory. Raises OpkitError."""
    check_report(path)
    try:
        write_atomically(path, text)
    except OSError as error:
        raise unwritable(path, error) from None


def check_report(path: Path) -> None:
    """Tell before long work that its report has no place. Raises OpkitError."""
    parent = path.resolve().parent
    if not parent.is_dir():
        missing = FileNotFoundError(errno.ENOENT, "no such directory", str(parent))
        raise unwritable(path, missing)


def unwritable(path: Path, error: OSError) -> OpkitError:
    """Describe a file that cannot be written, with what to do about it."""
    place = error.filename or path
    help = _UNWRITABLE.get(error.errno or 0, "choose another place")
    return OpkitError(f"cannot write {place}: {error.strerror or error}", help)


def digest_of(path: str | Path) -> str:
    """Give the SHA-256 of what a file holds. Raises OSError when it cannot be read."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def data_directory(name: str) -> Path:
    """Find a directory of shipped data ("op_templates", "yaml_schemas") in a checkout or an installed wheel.

    Raises FileNotFoundError when the installation is broken.
    """
    package = Path(str(resources.files("opkit")))
    for candidate in (package / "_data" / name, package.parent / name):
        if candidate.is_dir():
            return candidate
    raise FileNotFoundError(f"opkit's data directory {name!r} is missing from this installation ({package})")
