"""Which namespace and dispatch key the Library objects of a Python file stand for."""

from __future__ import annotations

import ast
from pathlib import Path

from opkit.against.python_source import PythonSource
from opkit.against.sources import module_path


def bind(call: ast.Call, names: tuple[str, ...] | list[str]) -> dict[str, ast.expr]:
    """Give the arguments of a call by the names of the parameters they are for."""
    bound = dict(zip(names, (a for a in call.args if not isinstance(a, ast.Starred))))
    return {**bound, **{k.arg: k.value for k in call.keywords if k.arg}}


def library_of(source: PythonSource, value: ast.expr) -> tuple[str, str] | None:
    """Give namespace and dispatch key of `Library("npu", "IMPL", "Meta")`."""
    if not isinstance(value, ast.Call) or source.dotted(value.func) not in (
        "torch.library.Library",
        "torch.library._scoped_library",
    ):
        return None
    arguments = bind(value, ("ns", "kind", "dispatch_key"))
    namespace = source.text_of(arguments.get("ns"))
    return None if namespace is None else (namespace, source.text_of(arguments.get("dispatch_key")) or "")


def imported_library(source: PythonSource, name: str) -> tuple[str, str] | None:
    """Find the Library a file imports under a name by reading the module it comes from."""
    module, _, original = source.dotted(ast.Name(name)).rpartition(".")
    level = len(module) - len(module.lstrip("."))
    if level:
        path: Path | None = (
            Path(source.path).absolute().parents[level - 1].joinpath(*module[level:].split("."))
        )
        path = path.with_suffix(".py") if path and path.with_suffix(".py").is_file() else path
    else:
        path = module_path(module) if module else None
    if path is not None and path.is_dir():
        path = path / "__init__.py"
    try:
        other = PythonSource(str(path), path.read_text(encoding="utf-8")) if path else None
    except (OSError, SyntaxError, ValueError):
        return None
    value = other.constants.get(original) if other else None
    return library_of(other, value) if other is not None and value is not None else None
