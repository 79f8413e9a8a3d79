"""The text of library functions, for modules that must not depend on opkit."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

_FILES = ("library.py", "library_op_plugin.py")


@lru_cache(maxsize=1)
def _functions() -> dict[str, str]:
    """Function name -> its text in the library, which is read and not imported: it needs torch."""
    found: dict[str, str] = {}
    for file in _FILES:
        text = Path(__file__).with_name(file).read_text(encoding="utf-8")
        lines = text.splitlines()
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef):
                found[node.name] = "\n".join(lines[node.lineno - 1 : node.end_lineno])
    return found


def library_functions(names: Iterable[str]) -> tuple[str, ...]:
    """The text of these functions and of all they call, in the order of the library."""
    functions = _functions()
    needed: set[str] = set()
    pending = [name for name in names if name in functions]
    while pending:
        name = pending.pop()
        if name not in needed:
            needed.add(name)
            pending += called(functions[name])
    return tuple(functions[name] for name in functions if name in needed)


def library_names() -> frozenset[str]:
    """Names of all library functions."""
    return frozenset(_functions())


def called(text: str) -> list[str]:
    """Names of library functions that a piece of Python calls."""
    functions = _functions()
    return [name for name in dict.fromkeys(re.findall(r"(?<![\w.])(\w+)\(", text)) if name in functions]
