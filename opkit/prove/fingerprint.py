"""What decides the result of one operator's proof, as text that can be compared and digested. No torch.

Two uses: `--changed-since` compares an operator with itself at a git revision, and the result cache looks for
a result of exactly this operator.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from opkit.model.diagnostic import Mark
from opkit.model.operator import EntryPoint, OpFile, OpSpec
from opkit.prove.sources import Sources, sources


def declaration(spec: OpSpec, op_file: OpFile) -> str:
    """Give an entry as read, without its place: files it inherits from and prototypes it names included."""
    parent = spec.gen_opapi.structured_inherit if spec.gen_opapi else None
    inherited = op_file.operator(parent) if parent else None
    parts = [_plain(spec), op_file.all_versions]
    # An entry that inherits from itself is one of the user's mistakes.
    if inherited is not None and inherited.name != spec.name:
        parts.append(declaration(inherited, op_file))
    return repr(parts)


def _plain(value: Any) -> Any:
    """Turn dataclasses into tuples, leaving out where they stand in the file."""
    if isinstance(value, Mark):
        return None
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = ((field.name, _plain(getattr(value, field.name))) for field in dataclasses.fields(value))
        return (type(value).__name__, *fields)
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return [(key, _plain(item)) for key, item in value.items()]
    return value


def entry_points(value: Any) -> Iterator[EntryPoint]:
    """List the functions that an entry names: reference, kernel, converter, a case's `call:`, ..."""
    if isinstance(value, EntryPoint):
        yield value
    elif dataclasses.is_dataclass(value) and not isinstance(value, (type, Mark)):
        for field in dataclasses.fields(value):
            yield from entry_points(getattr(value, field.name))
    elif isinstance(value, tuple):
        for item in value:
            yield from entry_points(item)


def code(spec: OpSpec, op_file: OpFile, directories: Iterable[Path] = ()) -> Sources:
    """List the Python files that the operator's functions are made of."""
    names = dict.fromkeys(entry.module for entry in entry_points(spec))
    found = sources(names, Path(op_file.path).resolve(), directories)
    parent = spec.gen_opapi.structured_inherit if spec.gen_opapi else None
    inherited = op_file.operator(parent) if parent else None
    if inherited is not None and inherited.name != spec.name:
        more = code(inherited, op_file, directories)
        found.files |= more.files
        found.add_problem(more.problem)
    return found


def prototype_file(spec: OpSpec, op_file: OpFile) -> Path | None:
    """Give the prototype json that an entry names."""
    if spec.ge is None or spec.ge.prototype is None:
        return None
    return (Path(op_file.path).resolve().parent / spec.ge.prototype).resolve()
