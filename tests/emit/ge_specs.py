"""Operators for the tests of what goes to GE."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from opkit.model.diagnostic import has_errors
from opkit.model.operator import OpFile, OpSpec
from opkit.read import read_text


def read(text: str, path: str = "ops.yaml") -> OpFile:
    op_file, diagnostics = read_text(text, path)
    assert op_file is not None
    assert not has_errors(diagnostics), [str(d) for d in diagnostics]
    return op_file


def spec(func: str, directory: Path | None = None, **keys: Any) -> OpSpec:
    """Read one operator from its `func` line and further keys, written as YAML flow text."""
    lines = [
        "custom:",
        f"  - func: {json.dumps(func)}",
        *(f"    {key}: {value}" for key, value in keys.items()),
    ]
    path = "ops.yaml" if directory is None else str(directory / "ops.yaml")
    return read("\n".join(lines) + "\n", path).operators[0]


def file_of(*specs: OpSpec) -> OpFile:
    return OpFile("ops.yaml", specs)
