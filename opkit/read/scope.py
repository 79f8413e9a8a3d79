"""The names a rule may use, and the check that it uses no others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from opkit.model.diagnostic import Mark
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
    Slice,
    Unary,
)
from opkit.model.schema import ListType, OperatorSchema, OptionalType, is_tensor_like
from opkit.read.document import Document
from opkit.shape.constants import CONSTANTS
from opkit.shape.environment import NAMES
from opkit.shape.errors import UNKNOWN_HELPER, UNKNOWN_NAME, nearest
from opkit.shape.helpers import HELPERS, find_helper

NOT_A_SIZE = "OPK022"

# Functions only `exec` needs: they prepare kernel parameters and say nothing about an output.
_CPP_FUNCTIONS = frozenset(
    [
        "float",
        "double",
        "bool",
        ",",
        "at::Scalar",
        "c10::typeMetaToScalarType",
        "std::abs",
        "std::min",
        "std::max",
    ]
)
# Constants whose values opkit has no use for.
_CPP_CONSTANTS = ("c10_npu::DType::", "op_infer::")


@dataclass
class Scope:
    """What is defined where an expression stands. Without a schema, unknown names cannot be told."""

    schema: OperatorSchema | None
    bindings: dict[str, Expression] = field(default_factory=dict)
    # `gen_opapi` is compiled as C++ for every operator; opkit needs to understand it only where it makes the
    # Meta kernel, which it does not for torch's own operators.
    helpers_matter: bool = True

    def known(self) -> list[str]:
        """Arguments and bindings."""
        arguments = [a.name for a in self.schema.arguments] if self.schema else []
        # torch_npu registers an argument `self` as `input`; rules may use either.
        if "self" in arguments and "input" not in arguments:
            arguments.append("input")
        return [*arguments, *self.bindings]


def children(node: Expression) -> tuple[Expression, ...]:
    """The expressions directly inside; a called function's name is not one of them."""
    if isinstance(node, (Literal, Name)):
        return ()
    if isinstance(node, Attribute):
        return (node.value,)
    if isinstance(node, Call):
        inner = (node.function.value,) if isinstance(node.function, Attribute) else ()
        return (*inner, *node.arguments)
    if isinstance(node, Index):
        return (node.value, node.index)
    if isinstance(node, Slice):
        return tuple(part for part in (node.value, node.start, node.stop) if part is not None)
    if isinstance(node, Unary):
        return (node.value,)
    if isinstance(node, Binary):
        return (node.left, node.right)
    if isinstance(node, Conditional):
        return (node.condition, node.then, node.otherwise)
    if isinstance(node, Comprehension):
        return (node.element, node.values)
    return node.items


def walk(node: Expression) -> Iterator[Expression]:
    """Every expression of a tree, outermost first."""
    yield node
    for child in children(node):
        yield from walk(child)


def check_names(document: Document, expression: Expression, scope: Scope) -> None:
    """Report names that are neither argument, binding nor constant, with the nearest that is."""
    if scope.schema is None:
        return
    known = scope.known()
    for node in _named(expression):
        name = f"torch.{node.name}" if isinstance(node, Attribute) else node.name
        if name in known or name in CONSTANTS or name in NAMES or name.startswith(_CPP_CONSTANTS):
            continue
        candidates = [*known, *(c for c in CONSTANTS if ("::" in c) == ("::" in name))]
        listed = ", ".join(a.name for a in scope.schema.arguments)
        help = nearest(name, candidates)
        if not help and "::" not in name:
            help = f"arguments: {listed}" if listed else "the operator has no arguments"
        what = "constant opkit knows" if "::" in name else f"argument of {document.operator}"
        document.report(UNKNOWN_NAME, f"`{name}` is no {what}", node.mark, help)


def _named(node: Expression) -> Iterator[Name | Attribute]:
    """Names used as values; `torch.float32` is one name."""
    if isinstance(node, Name):
        yield node
        return
    if isinstance(node, Attribute) and isinstance(node.value, Name) and node.value.name == "torch":
        yield node
        return
    if isinstance(node, Comprehension):
        yield from _named(node.values)
        # The name of each item means something inside only.
        yield from (n for n in _named(node.element) if not (isinstance(n, Name) and n.name == node.name))
        return
    for child in children(node):
        yield from _named(child)


def check_helpers(document: Document, expression: Expression, scope: Scope, *, is_cpp: bool) -> None:
    """Report functions opkit has no rule for, following bindings: their values decide the output, too."""
    if not scope.helpers_matter:
        return
    seen: set[str] = set()
    reported = {d.mark for d in document.diagnostics if d.code == UNKNOWN_HELPER}
    pending = [expression]
    while pending:
        for node in walk(pending.pop()):
            if isinstance(node, Name) and node.name in scope.bindings and node.name not in seen:
                seen.add(node.name)
                pending.append(scope.bindings[node.name])
            elif (
                isinstance(node, Call)
                and isinstance(node.function, Name)
                and node.function.mark not in reported
            ):
                _check_helper(document, node.function.name, node.function.mark, is_cpp)


def _check_helper(document: Document, name: str, mark: Mark, is_cpp: bool) -> None:
    if find_helper(name) is not None or (is_cpp and name in _CPP_FUNCTIONS):
        return
    close = nearest(name.rpartition("::")[2], HELPERS)
    if is_cpp:
        help = close or "say it under `meta:`, or name a function: meta: {python: pkg.module:function}"
        document.warn(
            UNKNOWN_HELPER, f"`{name}` needs a rule: opkit does not know what it computes", mark, help
        )
    else:
        help = close or "for what no expression can say name a function: meta: {python: pkg.module:function}"
        document.report(UNKNOWN_HELPER, f"`{name}` is no function of the rule language", mark, help)


def check_bare_size(document: Document, expression: Expression, schema: OperatorSchema | None) -> None:
    """Report a bare argument as size that op-plugin does not turn into `.sizes()`: it cannot compile."""
    if schema is None or not isinstance(expression, Name):
        return
    argument = schema.argument(expression.name)
    if argument is None or not is_tensor_like(argument.type) or argument.is_tensor:
        return
    help = f"write {argument.name}[0] or a helper" if isinstance(argument.type, ListType) else ""
    if isinstance(argument.type, OptionalType):
        help = f"write a Tensor argument, or a conditional over {argument.name}.has_value()"
    document.report(
        NOT_A_SIZE,
        f"`{argument.name}` is of type {argument.type}, which has no one shape",
        expression.mark,
        help,
    )
