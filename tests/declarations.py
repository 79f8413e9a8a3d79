"""Declarations that tests of generated code share, and how to read and run them."""

from __future__ import annotations

import importlib.util
import itertools
import sys
import textwrap
from pathlib import Path
from types import ModuleType

from opkit.model.operator import OpFile, OpSpec
from opkit.read import read_text
from opkit.shape import Rule, resolve

SAMPLE = """
custom:
  - func: my_op(Tensor x, Tensor? y, Tensor[] z, float attr1, int attr2) -> Tensor
    op_api: all_version
    gen_opapi:
      out: {size: x, dtype: x}
      exec: aclnnMyOp
  - func: my_inplace(Tensor(a!) x, Tensor y) -> Tensor
    op_api: all_version
    gen_opapi:
      out: {size: y, dtype: y}
      exec: aclnnMyInplace
"""

_COUNTER = itertools.count()


def op_file(text: str, path: str = "ops.yaml") -> OpFile:
    """Read YAML that must be without errors."""
    read, diagnostics = read_text(textwrap.dedent(text), path)
    assert read is not None, diagnostics
    assert not [d for d in diagnostics if d.severity.value == "error"], diagnostics
    return read


def entry(func: str, *lines: str) -> str:
    """One operator as a file: its `func` and further lines of the entry."""
    body = "".join(f"    {line}\n" for line in lines)
    return f"custom:\n  - func: {func}\n    op_api: all_version\n{body}"


def operator(func: str, *lines: str) -> tuple[OpSpec, OpFile]:
    """The only operator of a file."""
    file = op_file(entry(func, *lines))
    return file.operators[0], file


def rule(func: str, *lines: str) -> Rule:
    """The rule of the only operator of a file; it must be usable."""
    resolved = resolve(*operator(func, *lines))
    assert resolved.usable, resolved.diagnostics
    return resolved


def fresh_namespace() -> str:
    """A namespace no other test has used: registrations are global to the process."""
    return f"opkit_test_{next(_COUNTER)}"


def import_text(text: str, directory: Path, name: str | None = None) -> ModuleType:
    """Write a generated module and import it."""
    name = name or f"opkit_generated_{next(_COUNTER)}"
    path = directory / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    if str(directory) not in sys.path:
        sys.path.append(str(directory))  # importlib.reload looks there
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
