"""What the names in a function stand for, as far as one reading of its text can tell."""

from __future__ import annotations

import ast
from functools import cached_property

from opkit.against.declared import Declared
from opkit.against.python_source import Function, PythonSource, own_nodes
from opkit.against.registration import Registration
from opkit.against.signature import match, parameters_of
from opkit.model.schema import Argument

_LIKE = ("empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like")
# Functions of torch that make one new tensor.
FACTORIES = frozenset(
    (
        *("empty", "zeros", "ones", "full", "arange", "rand", "randn", "randint", "tensor"),
        *("empty_strided", "eye", "linspace", "scalar_tensor"),
    )
)
FRESH_FUNCTIONS = FACTORIES | frozenset(_LIKE)
FRESH_METHODS = frozenset(
    ["new_empty", "new_zeros", "new_ones", "new_full", "new_tensor", "new_empty_strided", "clone"]
)


class Flow:
    """One registered function beside its operator."""

    def __init__(self, declared: Declared, registration: Registration) -> None:
        assert registration.function is not None
        self.declared = declared
        self.registration = registration
        self.function: Function = registration.function
        self.source: PythonSource = registration.source

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """The nodes of the body in order."""
        return own_nodes(self.function)

    @cached_property
    def arguments(self) -> dict[str, Argument]:
        """Parameter name -> the argument it takes, for parameters that are never given another value."""
        parameters = parameters_of(self.function, self.registration.kind)
        matching = match(self.declared, parameters)
        return {p.name: a for a, p in matching.pairs if p.name not in self.assigned}

    @cached_property
    def assigned(self) -> dict[str, list[ast.expr | None]]:
        """Name -> everything assigned to it; None for what is no plain assignment."""
        found: dict[str, list[ast.expr | None]] = {}
        for node in self.nodes:
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    _assign(found, target, node.value)
            elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)):
                if node.value is not None:
                    _assign(found, node.target, node.value)
            elif isinstance(node, (ast.AugAssign, ast.For, ast.AsyncFor, ast.comprehension)):
                _assign(found, node.target, None)
            elif isinstance(node, (ast.With, ast.AsyncWith)):
                for item in node.items:
                    if item.optional_vars is not None:
                        _assign(found, item.optional_vars, None)
        return found

    def meanings(self, node: ast.expr, depth: int = 8) -> list[ast.expr]:
        """Follow names and conditionals to the expressions a value may be."""
        if depth and isinstance(node, ast.IfExp):
            return [*self.meanings(node.body, depth - 1), *self.meanings(node.orelse, depth - 1)]
        if depth and isinstance(node, ast.Name) and node.id in self.assigned:
            values = self.assigned[node.id]
            if all(value is not None for value in values):
                return [m for value in values if value is not None for m in self.meanings(value, depth - 1)]
        return [node]

    def is_fresh(self, node: ast.expr) -> bool:
        """Tell whether an expression is surely one new tensor."""
        if not isinstance(node, ast.Call):
            return False
        dotted = self.source.dotted(node.func)
        if dotted.startswith("torch."):
            return dotted[len("torch.") :] in FRESH_FUNCTIONS
        return isinstance(node.func, ast.Attribute) and node.func.attr in FRESH_METHODS


def _assign(found: dict[str, list[ast.expr | None]], target: ast.expr, value: ast.expr | None) -> None:
    if isinstance(target, ast.Name):
        found.setdefault(target.id, []).append(value)
    elif isinstance(target, ast.Starred):
        _assign(found, target.value, None)
    elif isinstance(target, (ast.Tuple, ast.List)):
        same = isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts)
        for i, item in enumerate(target.elts):
            _assign(found, item, value.elts[i] if same and isinstance(value, (ast.Tuple, ast.List)) else None)
