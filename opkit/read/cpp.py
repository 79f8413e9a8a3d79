"""The C++ dialect of rules: what `gen_opapi` of op_plugin_functions.yaml hands to the compiler as it is.

Covers what occurs there: operators and their precedence, calls, methods, indexing, brace lists,
`c10::SmallVector` and `at::ArrayRef` construction, `std::get<k>`, casts, the conditional and the comma
operator.
"""

from __future__ import annotations

import ast

from opkit.model.diagnostic import Mark
from opkit.model.expression import (
    Attribute,
    Binary,
    Call,
    Conditional,
    Expression,
    Index,
    Literal,
    Name,
    Sequence,
    Unary,
)
from opkit.read.source import SourceText
from opkit.read.tokens import CPP, TokenStream, tokenize

CODE = "OPK020"

# Loosest first; each level is left-associative.
_LEVELS = (("||",), ("&&",), ("==", "!="), ("<", ">", "<=", ">="), ("+", "-"), ("*", "/", "%"))
_PYTHON_OPERATOR = {"||": "or", "&&": "and", "/": "//"}
_LITERALS = {"true": True, "false": False, "nullptr": None}
# Types that are a list of sizes when constructed.
_LIST_TYPES = frozenset(
    [
        "c10::SmallVector",
        "SmallVector",
        "at::ArrayRef",
        "c10::ArrayRef",
        "at::IntArrayRef",
        "c10::IntArrayRef",
        "IntArrayRef",
        "std::vector",
        "at::SmallVector",
        "c10::SymIntArrayRef",
    ]
)
_TEMPLATES = frozenset(["static_cast", "const_cast", "reinterpret_cast", "std::get"]) | _LIST_TYPES
_INT_TYPES = frozenset(["int64_t", "int", "int32_t", "long"])


def parse_cpp(source: SourceText) -> Expression:
    """Parse one expression. Raises SyntaxProblem."""
    stream = TokenStream(source, tokenize(source, CPP, CODE), CODE)
    if stream.current.kind == "end":
        raise stream.problem("an expression is missing", stream.current)
    expression = _Parser(stream).expression()
    if stream.current.kind != "end":
        raise stream.problem(f"expected an operator or the end, found {stream.current}", stream.current)
    return expression


class _Parser:
    def __init__(self, stream: TokenStream) -> None:
        self.stream = stream

    def mark(self, start: int) -> Mark:
        """Mark from the token at offset `start` to the token taken last."""
        return self.stream.source.mark(start, self.stream.previous_end())

    def expression(self) -> Expression:
        start = self.stream.current.start
        condition = self.binary(0)
        if not self.stream.take("?"):
            return condition
        then = self.expression()
        self.stream.expect(":", "`:` of the conditional")
        otherwise = self.expression()
        return Conditional(condition, then, otherwise, self.mark(start))

    def binary(self, level: int) -> Expression:
        if level == len(_LEVELS):
            return self.unary()
        start = self.stream.current.start
        left = self.binary(level + 1)
        while self.stream.current.kind in _LEVELS[level]:
            operator = self.stream.advance().kind
            right = self.binary(level + 1)
            left = Binary(_PYTHON_OPERATOR.get(operator, operator), left, right, self.mark(start))
        return left

    def unary(self) -> Expression:
        token = self.stream.current
        if token.kind in ("!", "-", "+"):
            self.stream.advance()
            value = self.unary()
            if token.kind == "+":
                return value
            return Unary("not" if token.kind == "!" else "-", value, self.mark(token.start))
        if token.kind == "(" and self.stream.peek().text in _INT_TYPES and self.stream.peek(2).kind == ")":
            # A cast to an integer type says nothing about a size.
            for _ in range(3):
                self.stream.advance()
            return self.unary()
        return self.postfix()

    def postfix(self) -> Expression:
        start = self.stream.current.start
        value = self.primary()
        while True:
            kind = self.stream.current.kind
            if kind in (".", "->"):
                self.stream.advance()
                name = self.stream.expect("name", "a method's name")
                value = Attribute(value, name.text, self.mark(start))
            elif kind == "(":
                token = self.stream.current
                arguments = self.items("(", ")")
                if not isinstance(value, (Name, Attribute)):
                    raise self.stream.problem("only a function or method can be called", token)
                value = Call(value, arguments, self.mark(start))
            elif kind == "[":
                self.stream.advance()
                index = self.expression()
                self.stream.expect("]", "`]`")
                value = Index(value, index, self.mark(start))
            else:
                return value

    def items(self, opening: str, closing: str) -> tuple[Expression, ...]:
        self.stream.expect(opening, f"`{opening}`")
        items: list[Expression] = []
        if self.stream.take(closing):
            return ()
        items.append(self.expression())
        while self.stream.take(","):
            items.append(self.expression())
        self.stream.expect(closing, f"`,` or `{closing}`")
        return tuple(items)

    def primary(self) -> Expression:
        token = self.stream.current
        if token.kind == "number":
            self.stream.advance()
            return Literal(_number(token.text), self.mark(token.start))
        if token.kind == "string":
            self.stream.advance()
            if token.text.startswith("'"):
                raise self.stream.problem(
                    f"{token} is a character in C++, not a string", token, help='use "..."'
                )
            return Literal(str(ast.literal_eval(token.text)), self.mark(token.start))
        if token.kind == "{":
            items = self.items("{", "}")
            return Sequence(items, self.mark(token.start))
        if token.kind == "(":
            return self.parenthesized(token.start)
        if token.kind == "name":
            return self.name()
        raise self.stream.problem(f"expected a value, found {token}", token)

    def parenthesized(self, start: int) -> Expression:
        items = self.items("(", ")")
        if not items:
            raise self.stream.problem("an expression is missing", self.stream.current)
        if len(items) == 1:
            return items[0]
        # The comma operator: all are evaluated, the value is the last one's.
        mark = self.mark(start)
        return Call(Name(",", mark), items, mark)

    def name(self) -> Expression:
        stream = self.stream
        token = stream.advance()
        if token.text in _LITERALS:
            return Literal(_LITERALS[token.text], self.mark(token.start))
        text = token.text
        while stream.take("::"):
            text += "::" + stream.expect("name", "a name after `::`").text
        template = self.template() if text in _TEMPLATES and stream.current.kind == "<" else ""
        if text in _LIST_TYPES and stream.current.kind in ("{", "("):
            closing = {"{": "}", "(": ")"}
            items = self.items(stream.current.kind, closing[stream.current.kind])
            return Sequence(items, self.mark(token.start))
        if not template:
            return Name(text, self.mark(token.start))
        if stream.current.kind != "(":
            raise stream.problem(
                f"expected `(` after {text}<{template}>, found {stream.current}", stream.current
            )
        name_mark = self.mark(token.start)
        arguments = self.items("(", ")")
        if len(arguments) != 1:
            raise stream.problem(f"{text}<{template}> takes one value", token)
        if text == "std::get":
            if not template.isdigit():
                raise stream.problem("std::get takes a number in <>", token)
            return Index(arguments[0], Literal(int(template), name_mark), self.mark(token.start))
        if template.replace("const ", "") in _INT_TYPES or text == "const_cast":
            return arguments[0]
        return Call(Name(template, name_mark), arguments, self.mark(token.start))

    def template(self) -> str:
        """The text between `<` and `>`; nothing in this language nests them."""
        start = self.stream.expect("<", "`<`").end
        while self.stream.current.kind not in (">", "end"):
            self.stream.advance()
        end = self.stream.expect(">", "`>`").start
        return self.stream.source.text[start:end].strip()


def _number(text: str) -> int | float:
    digits = text.rstrip("uUlL")
    if digits.isdigit():
        return int(digits)
    return float(text.rstrip("fF"))
