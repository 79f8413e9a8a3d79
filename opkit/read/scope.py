"""The names a rule may use, and the check that it uses no others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from opkit.model.diagnostic import Mark, Severity
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
from opkit.model.schema import ListType, OperatorSchema, OptionalType, base_of, is_tensor_like
from opkit.read.document import Document
from opkit.shape.constants import CONSTANTS
from opkit.shape.environment import NAMES
from opkit.shape.errors import UNKNOWN_HELPER, UNKNOWN_NAME, WRONG_KIND, nearest
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
# Functions of op-plugin that its own YAML names for operators of torch; no Meta kernel comes from them.
_WITHOUT_RULE = frozenset(["op_infer::triangular_solve_output_size"])
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
# Constants whose values opkit has no use for.
_CPP_CONSTANTS = ("c10_npu::DType::", "op_infer::")


@dataclass
class Scope:
    """What is defined where an expression stands. Without a schema, unknown names cannot be told."""

    schema: OperatorSchema | None
    bindings: dict[str, Expression] = field(default_factory=dict)
    # Names whose value could not be read: they have their finding, so their uses need none.
    broken: set[str] = field(default_factory=set)
    # `gen_opapi` is compiled as C++ for every operator; opkit needs to understand it only where it makes the
    # Meta kernel, which it does not for torch's own operators.
    helpers_matter: bool = True
    # `meta` says what an unknown function of `gen_opapi` computes.
    has_meta: bool = False

    def known(self) -> list[str]:
        """Arguments and bindings, also those that could not be read."""
        arguments = [a.name for a in self.schema.arguments] if self.schema else []
        # torch_npu registers an argument `self` as `input`; rules may use either.
        if "self" in arguments and "input" not in arguments:
            arguments.append("input")
        return [*arguments, *self.bindings, *self.broken]


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
                _check_helper(document, node.function.name, node.function.mark, is_cpp, scope)


def _check_helper(document: Document, name: str, mark: Mark, is_cpp: bool, scope: Scope) -> None:
    if find_helper(name) is not None or (is_cpp and name in _CPP_FUNCTIONS):
        return
    # Where no Meta kernel depends on it, only a slip of the pen is told from a function of the user's own.
    close = nearest(name.rpartition("::")[2], HELPERS, 0.6 if scope.helpers_matter else 0.85)
    if is_cpp and not scope.helpers_matter:
        # No Meta kernel comes from it, but the C++ must compile.
        if name not in _WITHOUT_RULE and (close or not scope.has_meta):
            severity = Severity.WARNING if close else Severity.NOTE
            text = f"`{name}` is no function of op-plugin that opkit knows"
            document.report(UNKNOWN_HELPER, text, mark, close or "check the name", severity)
    elif is_cpp:
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


def check_size_items(document: Document, size: Expression, schema: OperatorSchema | None) -> None:
    """Report an argument that is no whole number and stands for one in `[x.size(0), mode]`."""
    if schema is None or not isinstance(size, Sequence):
        return
    for name in (found for item in size.items for found in _operands(item)):
        argument = schema.argument(name.name)
        if argument is None or base_of(argument.type).name not in ("str", "float", "ScalarType", "Device"):
            continue
        text = f"an item of a size is a whole number, `{name.name}` is of type {argument.type}"
        document.report(WRONG_KIND, text, name.mark, "take an int, or compute the size from the inputs")


def _operands(node: Expression) -> Iterator[Name]:
    """Names whose value goes into a number."""
    if isinstance(node, Name):
        yield node
    elif isinstance(node, Unary) or (isinstance(node, Binary) and node.operator not in _COMPARISONS):
        for child in children(node):
            yield from _operands(child)
