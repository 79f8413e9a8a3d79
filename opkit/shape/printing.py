"""Rule expressions as Python text.

What an expression is decides how it prints: a tensor's name is `x.shape` where a shape is wanted, `x.dtype`
where a dtype is, and `x` elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opkit.model.expression import (
    Attribute,
    Binary,
    Call,
    Comprehension,
    Conditional,
    Expression,
    Index,
    Literal,
    Name,
    Sequence,
    Slice,
    Unary,
)
from opkit.shape.calls import EMPTY_LISTS, apply, member
from opkit.shape.constants import CONSTANTS
from opkit.shape.environment import NAMES, holds
from opkit.shape.errors import UNKNOWN_HELPER, UNKNOWN_NAME, WRONG_CALL, WRONG_KIND, RuleError, nearest
from opkit.shape.helpers import HELPERS, Helper, find_helper
from opkit.shape.narrowing import assume
from opkit.shape.scope import Scope
from opkit.shape.value import (
    ADD,
    AND,
    ATOM,
    COMPARE,
    CONDITIONAL,
    MULTIPLY,
    NOT,
    OR,
    SHAPES,
    UNARY,
    Printed,
    coerce,
    definite,
)

_LEVELS = {
    "or": OR,
    "and": AND,
    "+": ADD,
    "-": ADD,
    "*": MULTIPLY,
    "//": MULTIPLY,
    "%": MULTIPLY,
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">=", "in", "not in", "is", "is not"), COMPARE),
}


# What is known when a rule is printed, and its opposite.
_DECIDED = {"True": "False", "False": "True"}


def print_python(expression: Expression, scope: Scope, want: str = "value") -> str:
    """Print an expression as Python; `want` is "shape", "dtype" or "value".

    Raises RuleError for a name or helper nobody knows, a wrong number of arguments, or a value of a kind that
    cannot be what is wanted.
    """
    return printed(expression, scope, want).text


def printed(expression: Expression, scope: Scope, want: str = "value") -> Printed:
    """Print an expression and tell its kind."""
    result = _PRINTERS[type(expression)](expression, scope, want)
    return coerce(result, want, expression.mark)


def _literal(node: Literal, scope: Scope, want: str) -> Printed:
    kinds: dict[type, str] = {bool: "bool", int: "int", float: "float", str: "str", type(None): "none"}
    return Printed(repr(node.value), kinds[type(node.value)])


def _name(node: Name, scope: Scope, want: str) -> Printed:
    variable = scope.variables.get(node.name)
    if variable is not None:
        return Printed(variable.python, variable.kind)
    constant = CONSTANTS.get(node.name)
    if constant is not None:
        return Printed(constant.python, constant.kind)
    message = f"`{node.name}` is neither an argument nor a name the rule defines"
    raise RuleError(UNKNOWN_NAME, message, node.mark, nearest(node.name, [*scope.variables, *CONSTANTS]))


def _attribute(node: Attribute, scope: Scope, want: str) -> Printed:
    if isinstance(node.value, Name) and node.value.name == "torch":
        return _name(Name(f"torch.{node.name}", node.mark), scope, want)
    return member(printed(node.value, scope), node.name, [], node.mark)


def _call(node: Call, scope: Scope, want: str) -> Printed:
    if isinstance(node.function, Attribute):
        value = printed(node.function.value, scope)
        arguments = [printed(a, scope) for a in node.arguments]
        return member(value, node.function.name, arguments, node.mark)
    if node.function.name.startswith(EMPTY_LISTS):
        return _sequence(Sequence(node.arguments, node.mark), scope, want)
    helper = _helper(node, node.function.name, scope)
    return apply(
        helper, [printed(a, scope, helper.kind_of(i)) for i, a in enumerate(node.arguments)], scope, node.mark
    )


def _helper(node: Call, name: str, scope: Scope) -> Helper:
    """Find the helper a call names and check the number of arguments."""
    helper = find_helper(name)
    if helper is None:
        if name in scope.variables:
            raise RuleError(WRONG_CALL, f"`{name}` is not a function", node.mark)
        help_ = (
            nearest(name, HELPERS)
            or "write the rule under `meta:`, or name a Python function: meta: {python: ...}"
        )
        raise RuleError(
            UNKNOWN_HELPER, f"opkit has no rule for the function `{name}`", node.function.mark, help_
        )
    if not helper.accepts(len(node.arguments)):
        expected = (
            f"{helper.fewest}"
            if helper.most == helper.fewest
            else f"{helper.fewest} to {helper.most or 'any'}"
        )
        message = f"`{name}` takes {expected} argument(s), {len(node.arguments)} given"
        raise RuleError(WRONG_CALL, message, node.mark)
    return helper


_ELEMENTS = {"shape": "int", "shapes": "shape", "tensors": "tensor", "optional_tensors": "tensor?"}


def _index(node: Index, scope: Scope, want: str) -> Printed:
    value, index = definite(printed(node.value, scope), node.value.mark), printed(node.index, scope)
    if value.base == "tensor":
        value = coerce(value, "shape", node.mark)
    return Printed(f"{value.at(ATOM)}[{index.text}]", _ELEMENTS.get(value.base, "value"))


def _slice(node: Slice, scope: Scope, want: str) -> Printed:
    value = coerce(printed(node.value, scope), "shape", node.value.mark)
    start = "" if node.start is None else printed(node.start, scope).text
    stop = "" if node.stop is None else printed(node.stop, scope).text
    return Printed(f"{value.at(ATOM)}[{start}:{stop}]", "shape")


def _unary(node: Unary, scope: Scope, want: str) -> Printed:
    value = printed(node.value, scope)
    if node.operator == "not":
        if value.text in _DECIDED:
            return Printed(_DECIDED[value.text], "bool")
        if value.text.endswith(" is not None") and value.level == COMPARE:
            return Printed(value.text.replace(" is not None", " is None"), "bool", COMPARE)
        return Printed(f"not {value.at(NOT)}", "bool", NOT)
    return Printed(f"{node.operator}{value.at(UNARY)}", value.kind, UNARY)


def _binary(node: Binary, scope: Scope, want: str) -> Printed:
    level = _LEVELS.get(node.operator)
    if level is None:
        message = f"operator `{node.operator}` is not part of the rule language"
        help_ = "sizes are integers: use // or ceildiv(a, b)" if node.operator == "/" else ""
        raise RuleError(WRONG_KIND, message, node.mark, help_)
    if isinstance(node.left, Name) and node.left.name in NAMES and node.left.name not in scope.variables:
        answer = holds(node.left.name, node.operator, node.right, scope.environment, node.mark)
        return Printed(str(answer), "bool")
    if node.operator == "+":
        joined = _concatenation(node, scope)
        if joined is not None:
            return joined
    left = printed(node.left, scope)
    if level <= AND and left.text in _DECIDED:
        decides = left.text == ("True" if level == OR else "False")
        return left if decides else printed(node.right, scope)
    # `present(y) and y.dim() == 2`: the right side is only looked at when the left side allows.
    right = printed(node.right, assume(scope, node.left, node.operator == "and") if level <= AND else scope)
    if level <= AND and right.text in _DECIDED:
        return right if right.text == ("True" if level == OR else "False") else left
    if left == right and level <= AND:
        # C++ asks an optional tensor both `has_value()` and `->defined()`; Python has one question.
        return left
    operator = node.operator
    if operator in ("==", "!=") and "None" in (left.text, right.text):
        operator = "is" if operator == "==" else "is not"
    elif level >= ADD or operator in ("<", "<=", ">", ">="):
        definite(left, node.left.mark)
        definite(right, node.right.mark)
    if operator in ("==", "!=") and all(side.base in SHAPES for side in (left, right)):
        left, right = _comparable(left), _comparable(right)
    kind = left.kind if level >= ADD else "bool"
    if level >= ADD and "float" in (left.base, right.base):
        kind = "float"
    # Comparisons do not chain and - // % group to the left: the right operand must bind tighter.
    first = level + 1 if level == COMPARE else level
    return Printed(f"{left.at(first)} {operator} {right.at(level + (level >= COMPARE))}", kind, level)


def _comparable(shape: Printed) -> Printed:
    """A list never equals a torch.Size; an argument of the operator may be either."""
    return shape if shape.text.endswith(".shape") else Printed(f"tuple({shape.text})", shape.kind)


def _concatenation(node: Binary, scope: Scope) -> Printed | None:
    """`shape + shape`: unpacked into one list, since a torch.Size and a list do not add up."""
    left, right = printed(node.left, scope), printed(node.right, scope)
    if not all(v.base in (*SHAPES, "tensor") for v in (left, right)):
        return None
    parts = [_unpacked(n, coerce(v, "shape", n.mark)) for n, v in ((node.left, left), (node.right, right))]
    return Printed(f"[{', '.join(p for p in parts if p)}]", "shape")


def _unpacked(node: Expression, shape: Printed) -> str:
    """A shape as items of a list; one that is printed as a list gives its own items."""
    is_list = isinstance(node, Sequence) or (isinstance(node, Binary) and node.operator == "+")
    return shape.text[1:-1] if is_list else f"*{shape.at(OR)}"


def _conditional(node: Conditional, scope: Scope, want: str) -> Printed:
    condition = printed(node.condition, scope)
    if condition.text in ("True", "False"):
        return printed(node.then if condition.text == "True" else node.otherwise, scope, want)
    then = printed(node.then, assume(scope, node.condition, True), want)
    otherwise = printed(node.otherwise, assume(scope, node.condition, False), want)
    kind = then.kind if then.kind != "none" else otherwise.kind
    if "none" in (then.kind, otherwise.kind) and not kind.endswith("?"):
        kind += "?"
    text = f"{then.at(OR)} if {condition.at(OR)} else {otherwise.text}"
    return Printed(text, kind, CONDITIONAL)


def _sequence(node: Sequence, scope: Scope, want: str) -> Printed:
    items = [definite(printed(item, scope), item.mark) for item in node.items]
    if want == "shape":
        for node_, item in zip(node.items, items):
            if item.base in (*SHAPES, "shapes", "tensor", "tensors"):
                message = f"an item of a size is a number, `{item.text}` is not one"
                help_ = "join shapes with +; a Tensor[] has a result of its own for each of its tensors"
                raise RuleError(WRONG_KIND, message, node_.mark, help_)
    kind = "tensors" if items and all(i.base == "tensor" for i in items) else "shape"
    return Printed(f"[{', '.join(i.text for i in items)}]", kind)


_ITEMS = {
    "shape": "int",
    "list": "value",
    "tensors": "tensor",
    "optional_tensors": "tensor?",
    "shapes": "shape",
}


def _comprehension(node: Comprehension, scope: Scope, want: str) -> Printed:
    values = definite(printed(node.values, scope), node.values.mark)
    if values.base not in _ITEMS:
        message = f"a list is needed after `in`, `{values.text}` is none"
        raise RuleError(WRONG_KIND, message, node.values.mark, "write x.shape for the sizes of a tensor")
    if node.name in scope.variables:
        raise RuleError(WRONG_CALL, f"`{node.name}` has a meaning already", node.mark, "take another name")
    inner = scope.bind(node.name, _ITEMS[values.base], node.name)
    element = definite(printed(node.element, inner), node.element.mark)
    kind = {"int": "shape", "tensor": "tensors", "shape": "shapes"}.get(element.base, "list")
    return Printed(f"[{element.text} for {node.name} in {values.text}]", kind)


_PRINTERS: dict[type, Callable[[Any, Scope, str], Printed]] = {
    Literal: _literal,
    Name: _name,
    Attribute: _attribute,
    Call: _call,
    Index: _index,
    Slice: _slice,
    Unary: _unary,
    Binary: _binary,
    Conditional: _conditional,
    Sequence: _sequence,
    Comprehension: _comprehension,
}
