"""Adds to a result what a reader needs beside it: the declaration with its line, and how to prove it again.

Imports no torch.
"""

from __future__ import annotations

import os
import shlex
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from opkit.errors import OpkitError
from opkit.model.diagnostic import Mark
from opkit.prove.plan import STYLES, Plan, read
from opkit.prove.protocol import OperatorResult, Proof

_LINES = 120


def described(proof: Proof, plan: Plan) -> Proof:
    """Fill in `line`, `declaration` and `command` of every result."""
    return replace(proof, operators=tuple(_operator(operator, plan) for operator in proof.operators))


def _operator(operator: OperatorResult, plan: Plan) -> OperatorResult:
    marks, lines = _file(operator.file)
    mark = marks.get(operator.name)
    command = _command(operator, plan)
    if mark is None:
        return replace(operator, command=command)
    return replace(operator, line=mark.line, declaration=entry_text(lines, mark), command=command)


@lru_cache(maxsize=64)
def _file(path: str) -> tuple[dict[str, Mark], tuple[str, ...]]:
    try:
        marks = {spec.name: spec.mark for spec in read(path).operators}
        return marks, tuple(Path(path).read_text(encoding="utf-8-sig").splitlines())
    except (OpkitError, OSError, UnicodeDecodeError):
        return {}, ()  # It was there when the proof began; somebody has changed it since.


def entry_text(lines: tuple[str, ...], mark: Mark) -> str:
    """Cut the entry of a YAML list out of its file: from its dash to the next line that is no part of it."""
    start = mark.line - 1
    while start > 0 and not lines[start].lstrip().startswith("- "):
        start -= 1
    indent = _indent(lines[start])
    end = start + 1
    while end < len(lines) and (not lines[end].strip() or _indent(lines[end]) > indent):
        end += 1
    kept = [line[indent:] for line in lines[start:end]]
    while kept and not kept[-1].strip():
        kept.pop()
    more = len(kept) - _LINES
    return "\n".join([*kept[:_LINES], *([f"# ... {more} more lines"] if more > 0 else [])])


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _command(operator: OperatorResult, plan: Plan) -> str:
    """Give the command that proves one operator in one style again, but for the mode."""
    here = os.path.relpath(operator.file)
    file = operator.file if here.startswith("..") else here
    words = ["opkit", "prove", file, "--op", operator.name]
    if operator.style in STYLES and not plan.package:
        words += ["--style", operator.style]
    if plan.namespace != "npu":
        words += ["--namespace", plan.namespace]
    if plan.package:
        words += ["--package", plan.package]
    words += [word for name in plan.imports for word in ("--import", name)]
    words += ["--seed", str(plan.seed)] if plan.seed else []
    words += [word for name in plan.stages for word in ("--stage", name)]
    return shlex.join(words)
