"""Names a function uses and nothing defines: Python finds out only when that line runs."""

from __future__ import annotations

import ast
import builtins
import symtable
from collections.abc import Iterator

from opkit.against.declared import finding
from opkit.against.flow import Flow
from opkit.against.python_source import PythonSource
from opkit.model.diagnostic import Diagnostic, Severity
from opkit.shape.errors import nearest

CODE = "OPK233"

_MODULE = {
    "__file__",
    "__name__",
    "__doc__",
    "__package__",
    "__spec__",
    "__path__",
    "__builtins__",
    "__class__",
}


class UndefinedNames:
    """What each function of a file reads from module level although nothing puts it there."""

    def __init__(self, source: PythonSource) -> None:
        self.source = source
        # Line of `def` or `lambda` -> names.
        self._by_line: dict[int, set[str]] = {}
        if source.has_star_import:
            return  # anything may have come in
        table = symtable.symtable(source.text, source.path, "exec")
        self.known = {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported()}
        self.known |= {s.get_name() for s in table.get_symbols() if s.is_namespace()}
        self.known |= set(dir(builtins)) | _MODULE
        tables = [table]
        functions: list[symtable.SymbolTable] = []
        while tables:
            inner = tables.pop()
            tables += inner.get_children()
            functions += [inner] if inner.get_type() != "module" else []
            # `global x` and an assignment in a function define a name of the module, too.
            self.known |= {
                s.get_name() for s in inner.get_symbols() if s.is_declared_global() and s.is_assigned()
            }
        for function in functions:
            names = {
                s.get_name() for s in function.get_symbols() if s.is_global() and s.is_referenced()
            } - self.known
            if names:
                self._by_line.setdefault(function.get_lineno(), set()).update(names)

    def check(self, flow: Flow) -> Iterator[Diagnostic]:
        """Report each name once per function, where it is first used."""
        if not self._by_line:
            return
        seen: set[str] = set()
        for node in ast.walk(flow.function):
            if not isinstance(
                node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ListComp, ast.GeneratorExp)
            ):
                continue
            first = min((d.lineno for d in getattr(node, "decorator_list", [])), default=node.lineno)
            names = set().union(*(self._by_line.get(n, set()) for n in (first, node.lineno))) - seen
            for use in ast.walk(node):
                if isinstance(use, ast.Name) and isinstance(use.ctx, ast.Load) and use.id in names - seen:
                    seen.add(use.id)
                    message = (
                        f"the {flow.registration.kind.value} of {flow.declared.name} uses `{use.id}`, "
                        "which nothing defines"
                    )
                    help = nearest(use.id, self.known) or "define or import it"
                    mark = flow.source.mark(use)
                    yield finding(CODE, Severity.ERROR, flow.declared, message, mark, help)
