"""A Python source file: its tree, what its names mean, and where things stand. Nothing is imported or run."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from functools import cached_property
from typing import Union

from opkit.model.diagnostic import Mark

Function = Union[ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda]
_IGNORE = re.compile(r"#\s*opkit:\s*ignore\[([^\]\n]*)\]")


class PythonSource:
    """One file. Raises SyntaxError or ValueError if it cannot be parsed."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self.tree = ast.parse(text, filename=path)
        self.lines = text.split("\n")
        self.ascii = text.isascii()
        self._names: dict[str, str] = {}
        # Module-level name -> the only expression assigned to it.
        self.constants: dict[str, ast.expr] = {}
        self.functions: dict[str, list[ast.FunctionDef | ast.AsyncFunctionDef]] = {}
        self.has_star_import = False
        self._collect()

    def _collect(self) -> None:
        assigned: dict[str, int] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.asname:
                        self._names[alias.asname] = alias.name
                    else:
                        self._names[alias.name.partition(".")[0]] = alias.name.partition(".")[0]
            elif isinstance(node, ast.ImportFrom):
                module = "." * node.level + (node.module or "")
                for alias in node.names:
                    self.has_star_import |= alias.name == "*"
                    self._names[alias.asname or alias.name] = f"{module}.{alias.name}"
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self.functions.setdefault(node.name, []).append(node)
        for statement in self.tree.body:
            if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
                target = statement.targets[0]
                if isinstance(target, ast.Name):
                    assigned[target.id] = assigned.get(target.id, 0) + 1
                    self.constants[target.id] = statement.value
        for name, count in assigned.items():
            if count > 1:
                del self.constants[name]

    def dotted(self, node: ast.AST) -> str:
        """`torch.library.impl` for whatever name the file gives it; empty for what is no dotted name."""
        if isinstance(node, ast.Name):
            return self._names.get(node.id, node.id)
        if isinstance(node, ast.Attribute):
            value = self.dotted(node.value)
            return f"{value}.{node.attr}" if value else ""
        return ""

    def text_of(self, node: ast.AST | None, bound: Mapping[str, ast.expr] | None = None) -> str | None:
        """Give the text an expression is, as far as it can be told; `bound` are a helper's parameters."""
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, str) else None
        if isinstance(node, ast.Name):
            if bound and node.id in bound:
                return self.text_of(bound[node.id])
            value = self.constants.get(node.id)
            return self.text_of(value) if isinstance(value, ast.Constant) else None
        if isinstance(node, ast.JoinedStr):
            parts = [
                self.text_of(v.value if isinstance(v, ast.FormattedValue) else v, bound) for v in node.values
            ]
            return None if any(p is None for p in parts) else "".join(p or "" for p in parts)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            left, right = self.text_of(node.left, bound), self.text_of(node.right, bound)
            return None if left is None or right is None else left + right
        return None

    def mark(self, node: ast.AST) -> Mark:
        """Mark an expression, or the name of a function, as far as it stands on its first line."""
        line: int = getattr(node, "lineno", 1)
        start: int = getattr(node, "col_offset", 0)
        end: int | None = getattr(node, "end_col_offset", None)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            start += len("async def " if isinstance(node, ast.AsyncFunctionDef) else "def ")
            end = start + len(node.name.encode())
        elif getattr(node, "end_lineno", line) != line or end is None:
            end = len(self.lines[line - 1].rstrip().encode())
        start, end = self._character(line, start), self._character(line, end)
        return Mark(self.path, line, start + 1, max(end - start, 1))

    def _character(self, line: int, column: int) -> int:
        """Python counts columns in UTF-8 bytes."""
        if self.ascii:
            return column
        return len(self.lines[line - 1].encode()[:column].decode(errors="ignore"))

    @cached_property
    def _ignored(self) -> dict[int, tuple[str, ...]]:
        if "opkit:" not in self.text:
            return {}
        return {
            number: tuple(code.strip() for code in match[1].split(","))
            for number, line in enumerate(self.lines, 1)
            if (match := _IGNORE.search(line))
        }

    def ignores(self, code: str, *lines: int) -> bool:
        """Tell whether a comment `# opkit: ignore[...]` on one of these lines silences a code."""
        return any(code in self._ignored.get(line, ()) for line in lines)


def body_of(function: Function) -> list[ast.stmt]:
    """Give the statements of a function; a lambda is one `return`."""
    if isinstance(function, ast.Lambda):
        statement = ast.Return(function.body)
        return [ast.copy_location(statement, function.body)]
    return function.body


def own_nodes(function: Function) -> list[ast.AST]:
    """List the nodes of a function's body in the order of the text, leaving out functions defined in it."""
    found: list[ast.AST] = []
    pending: list[ast.AST] = list(reversed(body_of(function)))
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            continue
        found.append(node)
        pending.extend(reversed(list(ast.iter_child_nodes(node))))
    return found
