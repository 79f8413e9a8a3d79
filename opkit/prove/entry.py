"""Loads what the user names: modules, files, packages, and functions in them."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from opkit.errors import OpkitError
from opkit.model.operator import EntryPoint


def load_module(name: str) -> ModuleType:
    """Import a dotted module, a `.py` file, or a package directory. Raises whatever its code raises."""
    path = Path(name)
    if path.suffix == ".py" or path.is_dir():
        return load_file(path.resolve())
    return importlib.import_module(name)


@cache
def load_file(path: Path) -> ModuleType:
    """Import a file or a package directory under its own name, once. Raises OpkitError if it is neither."""
    file = path / "__init__.py" if path.is_dir() else path
    name = path.name if path.is_dir() else path.stem
    locations = [str(path)] if path.is_dir() else None
    spec = importlib.util.spec_from_file_location(name, file, submodule_search_locations=locations)
    if spec is None or spec.loader is None or not file.is_file():
        raise OpkitError(f"{path} is neither a Python file nor a package", "check the path")
    module = importlib.util.module_from_spec(spec)
    # A package finds its own submodules by its name.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def load_function(entry: EntryPoint, yaml: str) -> Callable[..., Any]:
    """Find the function of an entry point; a file is meant relative to the YAML that names it.

    Raises OpkitError when there is no such function, and whatever the module's code raises.
    """
    if entry.module.endswith(".py"):
        module = load_file((Path(yaml).parent / entry.module).resolve())
    else:
        module = importlib.import_module(entry.module)
    function = getattr(module, entry.function, None)
    if not callable(function):
        raise OpkitError(f"{entry.module} has no function {entry.function}", f"{entry.mark} names it")
    return function  # type: ignore[no-any-return]
