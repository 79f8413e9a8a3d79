"""Sizes that a Meta kernel turns into plain numbers, so that each size gets a graph of its own.

`int()` of a SymInt guards on its value, and so does rounding what a division gave (torch 2.6 to 2.13); only
integer arithmetic stays symbolic.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from opkit.against.declared import finding
from opkit.against.flow import Flow
from opkit.model.diagnostic import Diagnostic, Severity
from opkit.model.schema import base_of

CODE = "OPK229"

_NUMBERS = ("int", "float", "round")
_ROUNDING = ("math.ceil", "math.floor", "math.trunc", "math.sqrt", "math.log2", "math.pow")
# Calls whose value is a size again if they are given one.
_PASSING = ("max", "min", "abs", "sum", "list", "tuple", "reversed", "sorted", *_NUMBERS, *_ROUNDING)
_SIZE_METHODS = ("size", "numel", "nelement", "stride")


def check_sizes(flow: Flow) -> Iterator[Diagnostic]:
    """Report the outermost expression of each conversion."""
    sizes = _Sizes(flow)
    covered: set[int] = set()
    for node in flow.nodes:
        if id(node) in covered:
            continue
        problem = _problem(node, sizes, flow)
        if problem:
            covered |= {id(n) for n in ast.walk(node)}
            text, help = problem
            message = f"the {flow.registration.kind.value} of {flow.declared.name} {text}"
            yield finding(CODE, Severity.WARNING, flow.declared, message, flow.source.mark(node), help)


def _problem(node: ast.AST, sizes: _Sizes, flow: Flow) -> tuple[str, str] | None:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and sizes.is_size(node):
        return (
            f"divides a size in floating point: `{_short(node)}`",
            "divide integers: a // b, or (a + b - 1) // b to round up",
        )
    if not isinstance(node, ast.Call):
        return None
    name = flow.source.dotted(node.func)
    if name in _NUMBERS and node.args and sizes.is_size(node.args[0]):
        return f"makes a number of a size: `{_short(node)}`", "leave the size as it is, in integer arithmetic"
    if name == "map" and len(node.args) == 2 and flow.source.dotted(node.args[0]) in _NUMBERS:
        if sizes.is_size(node.args[1]):
            return f"makes numbers of sizes: `{_short(node)}`", "leave the sizes as they are"
        return None
    if name in _ROUNDING and any(sizes.is_size(a) for a in node.args):
        return (
            f"computes a size in floating point: `{_short(node)}`",
            "divide integers: a // b, or (a + b - 1) // b to round up",
        )
    if isinstance(node.func, ast.Attribute) and node.func.attr == "item" and not node.args:
        return (
            f"reads a tensor's value: `{_short(node)}`",
            "a Meta kernel has no values; take the number as an argument of the operator",
        )
    return None


def _short(node: ast.AST) -> str:
    text = ast.unparse(node)
    return text if len(text) <= 60 else f"{text[:57]}..."


class _Sizes:
    """Which expressions of a function are made from the sizes of tensors."""

    def __init__(self, flow: Flow) -> None:
        self.names = {n for n, a in flow.arguments.items() if base_of(a.type).name == "SymInt"}
        self.flow = flow
        count = -1
        while count != len(self.names):  # sizes flow from name to name; each round finds more of them
            count = len(self.names)
            for node in flow.nodes:
                self.follow(node)

    def follow(self, node: ast.AST) -> None:
        """Add the names a statement gives a size to."""
        if isinstance(node, ast.Assign) and self.is_size(node.value):
            for target in node.targets:
                self.add(target)
        elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.NamedExpr)):
            if node.value is not None and self.is_size(node.value):
                self.add(node.target)
        elif isinstance(node, (ast.For, ast.comprehension)):
            if self.is_size(node.iter):
                self.add(node.target)
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("append", "extend", "insert")
            and any(self.is_size(a) for a in node.args)
        ):
            self.add(node.func.value)

    def add(self, target: ast.expr) -> None:
        """Take a target in."""
        if isinstance(target, ast.Name):
            self.names.add(target.id)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for item in target.elts:
                self.add(item)
        elif isinstance(target, (ast.Subscript, ast.Starred)):
            self.add(target.value)

    def is_size(self, node: ast.AST) -> bool:
        """Tell whether a value is a size, a list holding one, or computed from one."""
        if isinstance(node, ast.Name):
            return node.id in self.names
        if isinstance(node, ast.Attribute):
            return node.attr == "shape"
        if isinstance(node, ast.Subscript):
            return self.is_size(node.value)
        if isinstance(node, ast.BinOp):
            return self.is_size(node.left) or self.is_size(node.right)
        if isinstance(node, ast.IfExp):
            return self.is_size(node.body) or self.is_size(node.orelse)
        if isinstance(node, (ast.Tuple, ast.List)):
            return any(self.is_size(item) for item in node.elts)
        if isinstance(node, (ast.UnaryOp, ast.Starred)):
            value = node.operand if isinstance(node, ast.UnaryOp) else node.value
            return not isinstance(getattr(node, "op", None), ast.Not) and self.is_size(value)
        if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
            return self.is_size(node.elt)
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute) and node.func.attr in _SIZE_METHODS:
                return self.flow.source.dotted(node.func.value) not in ("np", "numpy", "math")
            name = self.flow.source.dotted(node.func)
            return name in _PASSING and any(self.is_size(a) for a in node.args)
        return False
