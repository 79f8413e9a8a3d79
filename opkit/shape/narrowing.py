"""What a condition tells about optional arguments: `x.shape if present(x) else []` is sound."""

from __future__ import annotations

from opkit.model.expression import Attribute, Binary, Call, Expression, Literal, Name, Unary
from opkit.shape.scope import Scope


def given(condition: Expression, truth: bool) -> frozenset[str]:
    """Names that are not None when the condition is `truth`."""
    if isinstance(condition, Unary) and condition.operator == "not":
        return given(condition.value, not truth)
    if isinstance(condition, Binary):
        return _of_binary(condition, truth)
    if isinstance(condition, Call) and truth:
        function = condition.function
        if isinstance(function, Attribute) and function.name in ("has_value", "defined"):
            return _name(function.value)
        if isinstance(function, Name) and function.name == "present" and len(condition.arguments) == 1:
            return _name(condition.arguments[0])
    return frozenset()


def _of_binary(condition: Binary, truth: bool) -> frozenset[str]:
    left, right, operator = condition.left, condition.right, condition.operator
    if operator == ("and" if truth else "or"):
        return given(left, truth) | given(right, truth)
    if operator in ("is not", "!=") if truth else operator in ("is", "=="):
        if isinstance(right, Literal) and right.value is None:
            return _name(left)
        if isinstance(left, Literal) and left.value is None:
            return _name(right)
    return frozenset()


def _name(node: Expression) -> frozenset[str]:
    return frozenset({node.name}) if isinstance(node, Name) else frozenset()


def assume(scope: Scope, condition: Expression, truth: bool = True) -> Scope:
    """The scope where the condition is known to be `truth`."""
    for name in sorted(given(condition, truth) & set(scope.variables)):
        variable = scope.variables[name]
        scope = scope.bind(name, variable.kind.rstrip("?"), variable.python)
    return scope
