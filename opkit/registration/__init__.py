"""Model to live registrations: what `emit` writes, done in memory."""

from __future__ import annotations

import linecache
import sys
import types
from pathlib import Path
from typing import Any

from opkit.emit import emit_meta
from opkit.model.operator import OpFile
from opkit.shape import Environment

# Registrations live as long as their module does; a module made here has no other owner.
_MODULES: list[types.ModuleType] = []


def register(
    op_file: OpFile, style: str = "library", namespace: str = "npu", environment: Environment | None = None
) -> types.ModuleType:
    """Register the operators and Meta kernels of a file by running exactly what `emit_meta` prints for it.

    Raises OpkitError when an operator has no usable rule, and RuntimeError when an operator is registered
    already with another schema.
    """
    text = emit_meta(op_file, style, namespace, environment=environment or Environment())
    path = Path(op_file.path)
    module = types.ModuleType(f"opkit_registered_{len(_MODULES)}")
    module.__file__ = str(path.with_name(f"<meta of {path.name}>"))
    _MODULES.append(module)
    sys.modules[module.__name__] = module
    run_text(text, module.__file__, module.__dict__)
    return module


def run_text(text: str, file: str, names: dict[str, Any]) -> None:
    """Run generated code; `file` is no file, but tracebacks and `inspect` show the lines all the same."""
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), names)
