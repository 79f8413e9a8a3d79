"""The directory of built stand-ins: private to the user, locked, checked before use, and kept small."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from opkit.cann.errors import BuildError

MANIFEST = "manifest.json"  # written last: a directory without it is not a build
_KEPT_BUILDS = 4
_DAY = 86400.0
_UNUSED_AFTER = 30 * _DAY  # even one of the newest builds goes then
_ELSEWHERE = "set OPKIT_CACHE_DIR to a directory that only you may write"


def cache_root() -> Path:
    """Give the directory that holds builds: $OPKIT_CACHE_DIR, else opkit below the user's cache directory."""
    if os.environ.get("OPKIT_CACHE_DIR"):
        return Path(os.environ["OPKIT_CACHE_DIR"])
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "opkit"


def require_private(root: Path) -> None:
    """Check that nobody but this user and root could have put a library into a directory.

    Raises:
        BuildError: the directory is another user's, or everybody may write it.
    """
    try:
        status = root.stat()
    except OSError:
        return  # not there yet, or not readable: then nothing is loaded from it
    if status.st_uid not in (os.geteuid(), 0):
        raise BuildError(f"the cache directory {root} belongs to another user", _ELSEWHERE)
    if stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_IWOTH:
        raise BuildError(
            f"everybody may write the cache directory {root}", f"chmod o-w {root}, or {_ELSEWHERE}"
        )


@contextmanager
def locked(target: Path) -> Iterator[None]:
    """Hold the lock of one build; the kernel gives it back if this process dies.

    Raises:
        BuildError: the cache directory is not private, or cannot be written.
    """
    root = target.parent
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        require_private(root)
        lock = _lock_file(target).open("w")
    except OSError as error:
        raise BuildError(
            f"cannot write the cache directory {root}: {error.strerror}",
            "set OPKIT_CACHE_DIR to a directory that you may write",
        ) from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _lock_file(target: Path) -> Path:
    return target.with_name(f"{target.name}.lock")


def write_manifest(directory: Path, *, torch_npu: str, compiler: str, libraries: Sequence[str]) -> None:
    """Finish a build: say what it is and the digest of each of its files."""
    digests = {path.name: _digest(path) for path in sorted(directory.glob("*.so*"))}
    manifest = {
        "torch_npu": torch_npu, "compiler": compiler, "libraries": list(libraries), "digests": digests,
    }  # fmt: skip
    (directory / MANIFEST).write_text(json.dumps(manifest, indent=1))


def is_whole(directory: Path) -> bool:
    """Whether a directory holds a finished build whose files are those that were built."""
    try:
        require_private(directory)
        manifest = json.loads((directory / MANIFEST).read_text())
        digests = manifest["digests"]
        libraries = manifest["libraries"]
        return set(libraries) <= set(digests) and all(
            _digest(directory / name) == digest for name, digest in digests.items()
        )
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def touch(manifest: Path) -> None:
    """Note that a build is in use, now and then: `prune` takes the ones that nobody uses."""
    try:
        if time.time() - manifest.stat().st_mtime > _DAY / 24:
            os.utime(manifest)
    except OSError:
        return  # a build in a directory that cannot be written is not pruned either


def prune(kept: Path) -> None:
    """Remove builds not used for a month, and those beyond the newest four not used for a day.

    A build that another process holds the lock of is left alone, and so is `kept`.
    """
    used = {path.parent: path.stat().st_mtime for path in kept.parent.glob(f"standin-*/{MANIFEST}")}
    newest = sorted(used, key=lambda path: used[path], reverse=True)
    now = time.time()
    for rank, path in enumerate(newest):
        limit = _UNUSED_AFTER if rank < _KEPT_BUILDS else _DAY
        if path == kept or now - used[path] < limit:
            continue
        with _lock_file(path).open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            (path / MANIFEST).unlink(missing_ok=True)  # first, so that a half removed build is none
            shutil.rmtree(path, ignore_errors=True)
