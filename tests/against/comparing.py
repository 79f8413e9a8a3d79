"""Writing a declaration and hand-written code to files, and comparing them."""

from __future__ import annotations

import textwrap
from pathlib import Path

from opkit.against import compare
from opkit.model.diagnostic import Diagnostic
from opkit.model.operator import OpFile
from opkit.read import read_text

HEAD = """\
import math
import torch
from torch.library import Library, impl
m = Library("npu", "IMPL", "Meta")
"""


def declared(*schemas: str, path: str = "ops.yaml") -> OpFile:
    """A file of custom operators; further lines of an entry follow its schema after a line end."""
    entries = []
    for schema in schemas:
        func, *lines = schema.split("\n")
        entries.append(f"  - func: {func}\n" + "".join(f"    {line}\n" for line in lines))
    op_file, _ = read_text("custom:\n" + "".join(entries), path)
    assert op_file is not None
    assert len(op_file.operators) == len(schemas)
    return op_file


def against(directory: Path, op_file: OpFile | str, code: str, name: str = "metas.py") -> list[Diagnostic]:
    """Compare an operator, or a file of them, with the text of a source file."""
    path = directory / name
    path.write_text(textwrap.dedent(code), encoding="utf-8")
    return compare([declared(op_file) if isinstance(op_file, str) else op_file], [str(path)])


def meta(directory: Path, schema: str, signature: str, body: str = "raise ValueError") -> list[Diagnostic]:
    """Compare an operator with a Meta kernel of this signature and body."""
    name = schema.partition("(")[0]
    lines = textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    return against(directory, schema, f'{HEAD}@impl(m, "{name}")\ndef f({signature}):\n{lines}\n')


def codes(found: list[Diagnostic]) -> list[str]:
    """The codes with their severities, e.g. "OPK221 error"."""
    return [f"{d.code} {d.severity.value}" for d in found]


def underlined(diagnostic: Diagnostic) -> str:
    """The text a finding points at."""
    mark = diagnostic.mark
    assert mark is not None
    line = Path(mark.file).read_text(encoding="utf-8").split("\n")[mark.line - 1]
    return line[mark.column - 1 : mark.column - 1 + mark.length]
