"""The Python-like dialect of rules, used under `meta:`. Python's own parser reads it."""

from __future__ import annotations

import ast
import warnings

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
    Sequence,
    Slice,
    Unary,
)
from opkit.read.source import SourceText
from opkit.read.tokens import SyntaxProblem

CODE = "OPK020"

_BINARY: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
    # The only values one would compare so are None and flags, for which both mean the same.
    ast.Is: "==",
    ast.IsNot: "!=",
}
_REFUSED: dict[type[ast.AST], tuple[str, str]] = {
    ast.Div: ("`/` gives a float, and a float size specialises a symbolic dim", "use // or ceildiv(a, b)"),
    ast.Pow: ("`**` is not part of the rule language", "write the product"),
}


def parse_python(source: SourceText) -> Expression:
    """Parse one expression. Raises SyntaxProblem."""
    # Newlines become spaces, one for one, so that offsets stay offsets into the source.
    text = source.text.replace("\n", " ").replace("\r", " ").replace("\t", " ")
    indent = len(text) - len(text.lstrip())
    text = text[indent:]
    if not text.strip():
        raise SyntaxProblem(CODE, "an expression is missing", 0, 1)
    try:
        with warnings.catch_warnings():
            # `1if x else 2` is legal and warned about; that would go to the screen past every diagnostic.
            warnings.simplefilter("ignore", SyntaxWarning)
            tree = ast.parse(text, mode="eval")
    except SyntaxError as error:
        start = indent + max((error.offset or 1) - 1, 0)
        unbalanced = "never closed" in error.msg or "does not match" in error.msg
        help = "close each bracket that is opened" if unbalanced else ""
        raise SyntaxProblem(CODE, f"not an expression: {error.msg}", start, start + 1, help) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise SyntaxProblem(CODE, f"not an expression: {error}", 0, len(source.text)) from None
    return _Converter(source, text, indent).convert(tree.body)


class _Converter:
    """Python's tree to ours."""

    def __init__(self, source: SourceText, text: str, indent: int) -> None:
        self.source = source
        self.text = text
        self.indent = indent
        self.encoded = None if text.isascii() else text.encode()

    def span(self, node: ast.expr) -> tuple[int, int]:
        return self.offset(node.col_offset), self.offset(node.end_col_offset or node.col_offset + 1)

    def offset(self, column: int) -> int:
        """Python counts columns in UTF-8 bytes."""
        if self.encoded is not None:
            column = len(self.encoded[:column].decode(errors="ignore"))
        return column + self.indent

    def mark(self, node: ast.expr) -> Mark:
        return self.source.mark(*self.span(node))

    def problem(self, node: ast.expr, message: str, help: str = "") -> SyntaxProblem:
        return SyntaxProblem(CODE, message, *self.span(node), help)

    def convert(self, node: ast.expr) -> Expression:
        method = getattr(self, f"convert_{type(node).__name__}", None)
        if method is None:
            part = ast.unparse(node)
            raise self.problem(node, f"`{part}` is not part of the rule language ({type(node).__name__})")
        result: Expression = method(node)
        return result

    def convert_Constant(self, node: ast.Constant) -> Expression:
        if node.value is not None and not isinstance(node.value, (bool, int, float, str)):
            raise self.problem(node, f"a {type(node.value).__name__} is not part of the rule language")
        return Literal(node.value, self.mark(node))

    def convert_Name(self, node: ast.Name) -> Expression:
        return Name(node.id, self.mark(node))

    def convert_Attribute(self, node: ast.Attribute) -> Expression:
        return Attribute(self.convert(node.value), node.attr, self.mark(node))

    def convert_Call(self, node: ast.Call) -> Expression:
        if node.keywords:
            value = node.keywords[0].value
            raise self.problem(value, "arguments are given by position in the rule language")
        function = self.convert(node.func)
        if not isinstance(function, (Name, Attribute)):
            raise self.problem(node.func, "only a function or method can be called")
        arguments = tuple(self.convert(a) for a in node.args)
        if isinstance(function, Name) and function.name == "match":
            return self.match(node, arguments)
        return Call(function, arguments, self.mark(node))

    def match(self, node: ast.Call, arguments: tuple[Expression, ...]) -> Expression:
        """`match(value, key, result, ..., otherwise)`: the result of the key that the value equals."""
        if len(arguments) < 4 or len(arguments) % 2:
            message = "`match` takes a value, pairs of a key and a result, and a result for anything else"
            raise self.problem(node, message, 'write match(layout, "BSH", a, "SBH", b, c)')
        value, *pairs, result = arguments
        for key, then in reversed(list(zip(pairs[::2], pairs[1::2]))):
            result = Conditional(Binary("==", value, key, key.mark), then, result, self.mark(node))
        return result

    def convert_ListComp(self, node: ast.ListComp) -> Expression:
        first, *more = node.generators
        if more or first.ifs or first.is_async or not isinstance(first.target, ast.Name):
            raise self.problem(
                node, "a list is made of one `for` without `if`", "write [f(n) for n in sizes]"
            )
        return Comprehension(
            self.convert(node.elt), first.target.id, self.convert(first.iter), self.mark(node)
        )

    def convert_Subscript(self, node: ast.Subscript) -> Expression:
        value = self.convert(node.value)
        index = node.slice
        if isinstance(index, ast.Slice):
            if index.step is not None:
                raise self.problem(index.step, "a slice with a step is not part of the rule language")
            start = self.convert(index.lower) if index.lower else None
            stop = self.convert(index.upper) if index.upper else None
            return Slice(value, start, stop, self.mark(node))
        return Index(value, self.convert(index), self.mark(node))

    def convert_UnaryOp(self, node: ast.UnaryOp) -> Expression:
        value = self.convert(node.operand)
        if isinstance(node.op, ast.UAdd):
            return value
        if isinstance(node.op, (ast.USub, ast.Not)):
            return Unary("-" if isinstance(node.op, ast.USub) else "not", value, self.mark(node))
        raise self.problem(node, "`~` is not part of the rule language", "write not")

    def convert_BinOp(self, node: ast.BinOp) -> Expression:
        return self.binary(node, node.op, self.convert(node.left), self.convert(node.right))

    def binary(self, node: ast.expr, operator: ast.AST, left: Expression, right: Expression) -> Expression:
        if isinstance(operator, ast.NotIn):
            mark = self.mark(node)
            return Unary("not", Binary("in", left, right, mark), mark)
        name = _BINARY.get(type(operator))
        if name is None:
            message = f"the operator of `{ast.unparse(node)}` is not part of the rule language"
            raise self.problem(node, *_REFUSED.get(type(operator), (message, "")))
        return Binary(name, left, right, self.mark(node))

    def convert_BoolOp(self, node: ast.BoolOp) -> Expression:
        operator = "and" if isinstance(node.op, ast.And) else "or"
        result, *rest = [self.convert(value) for value in node.values]
        for value in rest:
            result = Binary(operator, result, value, self.mark(node))
        return result

    def convert_Compare(self, node: ast.Compare) -> Expression:
        operands = [self.convert(value) for value in (node.left, *node.comparators)]
        parts = [
            self.binary(node, operator, operands[i], operands[i + 1]) for i, operator in enumerate(node.ops)
        ]
        result = parts[0]
        for part in parts[1:]:
            result = Binary("and", result, part, self.mark(node))
        return result

    def convert_IfExp(self, node: ast.IfExp) -> Expression:
        return Conditional(
            self.convert(node.test), self.convert(node.body), self.convert(node.orelse), self.mark(node)
        )

    def convert_List(self, node: ast.List) -> Expression:
        return Sequence(tuple(self.convert(item) for item in node.elts), self.mark(node))

    def convert_Tuple(self, node: ast.Tuple) -> Expression:
        return Sequence(tuple(self.convert(item) for item in node.elts), self.mark(node))
