"""Finding source files: by path, by directory, or by a module's dotted name, without importing anything."""

from __future__ import annotations

import importlib.machinery
import importlib.util
from pathlib import Path

from opkit.errors import OpkitError

PYTHON = (".py",)
CPP = (".cpp", ".cc", ".cxx", ".h", ".hpp")


def find_sources(name: str) -> list[Path]:
    """Give the Python and C++ files a command line argument means.

    Raises OpkitError if there is no such file, directory or module, or nothing in it to read.
    """
    path = Path(name)
    if path.is_file():
        return [path]
    if path.is_dir():
        return _directory(path, name)
    if not all(part.isidentifier() for part in name.split(".")):
        raise OpkitError(f"no such file or directory: {name}", "give a path, or a module's dotted name")
    found = module_path(name)
    if found is None:
        raise OpkitError(
            f"no such file, directory or module: {name}", "is it installed in this Python environment?"
        )
    return _directory(found, name) if found.is_dir() else [found]


def _directory(directory: Path, name: str) -> list[Path]:
    files = [
        path
        for path in sorted(directory.rglob("*"))
        if path.suffix in PYTHON + CPP
        and path.is_file()
        and not any(
            part.startswith(".") or part == "__pycache__" for part in path.parts[len(directory.parts) :]
        )
    ]
    if not files:
        raise OpkitError(f"no Python or C++ source in {name}")
    return files


def module_path(name: str) -> Path | None:
    """Find a module's file, or a package's directory, without importing it or the packages it is in."""
    top, *rest = name.split(".")
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return None
    for i, part in enumerate(rest):
        if spec is None or spec.submodule_search_locations is None:
            return None
        qualified = ".".join([top, *rest[:i], part])
        spec = importlib.machinery.PathFinder.find_spec(qualified, list(spec.submodule_search_locations))
    if spec is None:
        return None
    if spec.submodule_search_locations:
        return Path(next(iter(spec.submodule_search_locations)))
    origin = Path(spec.origin) if spec.origin and spec.has_location else None
    return origin if origin is not None and origin.suffix in PYTHON else None
