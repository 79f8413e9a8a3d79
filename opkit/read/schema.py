"""The operator schema parser: `name.overload(Tensor(a!) x, *, int n=1) -> Tensor`.

Accepts what torch's own parser accepts (torch/csrc/jit/frontend/function_schema_parser.cpp), with a closed
list of type names and except what no operator can use: type variables, `...`, an `*` with nothing after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Callable

from opkit.model.diagnostic import Diagnostic, Mark, Severity
from opkit.model.schema import (
    Alias,
    Argument,
    BaseType,
    ListType,
    OperatorName,
    OperatorSchema,
    OptionalType,
    Return,
    Type,
)
from opkit.read.defaults import parse_default
from opkit.read.source import SourceText
from opkit.read.tokens import SCHEMA, SyntaxProblem, Token, TokenStream, tokenize
from opkit.read.types import BASE_TYPES, COMPOUND_TYPES, RESERVED_WORDS, VERSIONED_TYPES, type_help

SYNTAX = "OPK010"
UNKNOWN_TYPE = "OPK011"
DUPLICATE_ARGUMENT = "OPK014"
RETURNS_NONE = "OPK015"
BARE_MUTATION = "OPK016"

# Stands for `Tensor!` until the letters used elsewhere in the schema are known.
_FRESH = Alias((), True)


def parse_schema(text: str, mark: Mark) -> tuple[OperatorSchema | None, tuple[Diagnostic, ...]]:
    """Parse a schema that stands in its file as it is, beginning at `mark`. Never raises for a bad schema."""
    return parse_schema_source(SourceText.at(text, mark))


def parse_schema_source(source: SourceText) -> tuple[OperatorSchema | None, tuple[Diagnostic, ...]]:
    """Parse a schema; None if it has an error. All errors that can be told apart are reported."""
    try:
        stream = TokenStream(source, tokenize(source, SCHEMA, SYNTAX), SYNTAX)
    except SyntaxProblem as problem:
        return None, (_diagnostic(source, problem),)
    parser = SchemaParser(stream)
    try:
        schema = parser.schema()
    except RecursionError:
        too_deep = SyntaxProblem(SYNTAX, "the schema is nested too deeply", 0, len(source.text))
        return None, (_diagnostic(source, too_deep),)
    return schema, tuple(parser.diagnostics)


def _diagnostic(
    source: SourceText, problem: SyntaxProblem, severity: Severity = Severity.ERROR, operator: str = ""
) -> Diagnostic:
    mark = source.mark(problem.start, problem.end)
    return Diagnostic(problem.code, severity, problem.message, mark, problem.help, operator)


class SchemaParser:
    """Recursive descent over one schema's tokens; errors are collected argument by argument."""

    def __init__(self, stream: TokenStream) -> None:
        self.stream = stream
        self.diagnostics: list[Diagnostic] = []
        self.operator = ""
        self.failed = False

    def schema(self) -> OperatorSchema | None:
        """Read the whole schema; None if it has an error."""
        try:
            name = self.name()
            self.operator = str(name)
            arguments = self.arguments()
            if self.failed and self.stream.current.kind != "->":
                # The end of the arguments was not found; what follows would be a guess.
                return None
            arrow = "`->` and the results after the arguments"
            self.stream.expect("->", arrow, "end the schema with -> Tensor, or -> () if it returns nothing")
            returns = self.returns()
            if self.stream.current.kind != "end":
                text = "text after the end of the schema"
                several = self.stream.current.kind == ","
                help = "put several results in parentheses: -> (Tensor, Tensor)" if several else "remove it"
                raise self.stream.problem(f"{text}: {self.stream.current}", self.stream.current, help=help)
        except SyntaxProblem as problem:
            self.report(problem)
            return None
        if self.failed:
            return None
        arguments, returns = self.name_fresh_aliases(arguments, returns)
        source = self.stream.source
        return OperatorSchema(
            name, tuple(arguments), tuple(returns), source.mark(0, len(source.text.rstrip()))
        )

    def report(self, problem: SyntaxProblem, severity: Severity = Severity.ERROR) -> None:
        """Keep what a problem says."""
        self.failed = self.failed or severity is Severity.ERROR
        self.diagnostics.append(_diagnostic(self.stream.source, problem, severity, self.operator))

    def identifier(self, what: str, help: str = "") -> Token:
        """Take a name that is no reserved word. Raises SyntaxProblem, like all that follows."""
        token = self.stream.expect("name", what, help)
        if token.text in RESERVED_WORDS:
            raise self.stream.problem(
                f"`{token.text}` is a reserved word of the schema language",
                token,
                help=f"choose another name, e.g. `{token.text}_`",
            )
        return token

    def name(self) -> OperatorName:
        """Read `namespace::base.overload`."""
        help = "a name begins with a letter or _"
        namespace, base, overload = "", self.identifier("the operator's name", help).text, ""
        if self.stream.take("::"):
            namespace, base = base, self.identifier("the operator's name after `::`").text
            if self.stream.current.kind == "::":
                help = "write namespace::name"
                raise self.stream.problem(
                    "an operator has one namespace only", self.stream.current, help=help
                )
        if self.stream.take("."):
            token = self.identifier("the overload name after `.`")
            overload = token.text
            if overload == "default":
                help = "leave `.default` out: it is how the overload without a name is called from Python"
                raise self.stream.problem("no overload may be named `default`", token, help=help)
            if self.stream.current.kind == ".":
                text = "an operator has one overload name only"
                help = f"write {base}.{overload}_{self.stream.peek().text}"
                raise self.stream.problem(text, self.stream.current, help=help)
        return OperatorName(base, overload, namespace)

    def arguments(self) -> list[Argument]:
        """Read the arguments with their parentheses; errors are kept, and the next argument is read."""
        stream = self.stream
        help = "write name(Tensor x) -> Tensor"
        if stream.current.kind == "-":
            help = "a name is made of letters, digits and _"
        stream.expect("(", "`(` before the arguments", help)
        arguments: list[Argument] = []
        star: Token | None = None
        while stream.current.kind != ")" or arguments or star:
            start = stream.position
            try:
                if stream.current.kind == "*":
                    if star:
                        raise stream.problem(
                            "a second `*`; keyword-only arguments begin once",
                            stream.current,
                            help="remove it",
                        )
                    star = stream.advance()
                else:
                    arguments.append(self.argument(star is not None))
            except SyntaxProblem as problem:
                self.report(problem)
                if not self.recover(start):
                    return arguments
            if not stream.take(","):
                break
        stream.expect(")", "`,` or `)` after the argument")
        self.check_arguments(arguments, star)
        return arguments

    def recover(self, start: int) -> bool:
        """Go to the `,` or `)` that ends the argument beginning at token `start`; False if nothing does."""
        stream = self.stream
        stream.position = start
        depth = 0
        while stream.current.kind not in ("end", "->") or depth > 0:
            kind = stream.current.kind
            if depth == 0 and kind in (",", ")"):
                return True
            if kind == "end":
                return False
            depth += (kind in ("(", "[")) - (kind in (")", "]"))
            stream.advance()
        return False

    def check_arguments(self, arguments: list[Argument], star: Token | None) -> None:
        """Check what concerns several arguments."""
        seen: dict[str, Argument] = {}
        default: Argument | None = None
        for argument in arguments:
            if argument.name in seen:
                message = f"two arguments are named `{argument.name}`"
                first = ("the first one", seen[argument.name].mark)
                self.diagnostics.append(
                    Diagnostic(
                        DUPLICATE_ARGUMENT,
                        Severity.ERROR,
                        message,
                        argument.mark,
                        "rename one of them: a Meta kernel is called with arguments by name",
                        self.operator,
                        (first,),
                    )
                )
                self.failed = True
            seen.setdefault(argument.name, argument)
            # torch lets lists without a default follow, since it used to write them that way.
            is_list = isinstance(argument.type, ListType)
            if not (argument.kwarg_only or argument.default or is_list) and default is not None:
                message = f"`{argument.name}` has no default but comes after `{default.name}`, which has one"
                help = "give it a default, move it forward, or put it after a `*`"
                self.diagnostics.append(
                    Diagnostic(SYNTAX, Severity.ERROR, message, argument.mark, help, self.operator)
                )
                self.failed = True
            if not argument.kwarg_only and argument.default is not None:
                default = argument
        if star and not any(a.kwarg_only for a in arguments) and not self.failed:
            self.report(self.stream.problem("nothing follows the `*`", star, help="remove it"))

    def argument(self, kwarg_only: bool) -> Argument:
        """Read one argument."""
        stream = self.stream
        start = stream.current.start
        if stream.current.kind == "...":
            raise stream.problem(
                "a variadic operator cannot enter a graph", stream.current, help="write a list"
            )
        if stream.current.kind == ")":
            raise stream.problem("a comma with no argument after it", stream.current, help="remove the comma")
        type_, alias = self.type()
        example = f"write {type_} x"
        if stream.current.kind in (",", ")"):
            what = f"the argument after its type {type_} has no name"
            raise stream.problem(what, stream.current, help=example)
        name = self.identifier(f"the argument's name after its type {type_}", example)
        default = parse_default(stream, type_) if stream.take("=") else None
        if default is None and stream.current.kind not in (",", ")"):
            text = f"expected `,` or `)` after `{name.text}`, found {stream.current}"
            help = "an argument is: type name, or type name=default"
            if stream.current.kind in ("->", "end"):
                help = "close the arguments with a `)`"
            raise stream.problem(text, stream.current, help=help)
        mark = stream.source.mark(start, stream.previous_end())
        return Argument(name.text, type_, default, kwarg_only, alias, mark)

    def returns(self) -> list[Return]:
        """Read what follows the arrow."""
        stream = self.stream
        first = stream.current
        if first.kind == "name" and first.text in ("None", "NoneType"):
            stream.advance()
            message = f"`-> {first.text}` is one result of type NoneType to torch; read as `-> ()`"
            problem = stream.problem(message, first, code=RETURNS_NONE, help="write -> ()")
            self.report(problem, Severity.WARNING)
            return []
        if first.kind != "(":
            return [self.result()]
        stream.advance()
        returns: list[Return] = []
        if stream.take(")"):
            return returns
        returns.append(self.result())
        while stream.take(","):
            returns.append(self.result())
        stream.expect(")", "`,` or `)` after the result")
        return returns

    def result(self) -> Return:
        """Read one result."""
        stream = self.stream
        start = stream.current.start
        if stream.current.kind == "...":
            raise stream.problem(
                "a variadic operator cannot enter a graph", stream.current, help="write a list"
            )
        type_, alias = self.type()
        name = self.identifier("a name").text if stream.current.kind == "name" else None
        return Return(type_, name, alias, stream.source.mark(start, stream.previous_end()))

    def type(self) -> tuple[Type, Alias | None]:
        """A type with its `?`, `[]` and alias annotation. A sized list can only be the outermost but one."""
        stream = self.stream
        type_: Type = self.base_type()
        alias = self.alias()
        while True:
            if stream.current.kind == "[" and stream.peek().kind == "]":
                stream.advance()
                stream.advance()
                type_ = ListType(type_)
                alias = self.list_alias(alias)
            elif stream.current.kind == "?":
                token = stream.advance()
                if isinstance(type_, OptionalType):
                    raise stream.problem("a second `?`", token, help="remove it")
                type_ = OptionalType(type_)
                if stream.current.kind in ("(", "!"):
                    help = "write it before the `?`, e.g. Tensor(a!)? x"
                    raise stream.problem("an alias annotation after `?`", stream.current, help=help)
            else:
                break
        if stream.take("["):
            size = stream.expect("number", "`]` or the list's size")
            if not size.text.isdigit():
                raise stream.problem(f"{size} is no list size", size)
            stream.expect("]", "`]` after the list's size")
            type_ = ListType(type_, int(size.text))
            alias = self.list_alias(alias)
            if stream.take("?"):
                type_ = OptionalType(type_)
        return type_, alias

    def list_alias(self, element: Alias | None) -> Alias | None:
        """Read the alias annotation that stands behind a `[]`."""
        token = self.stream.current
        container = self.alias()
        if container and element:
            text = "an alias annotation on the list and another on its elements"
            raise self.stream.problem(text, token, help="keep one of them, e.g. Tensor(a!)[] x")
        return container or element

    def base_type(self) -> BaseType:
        """Read a type without `?` and `[]`."""
        stream = self.stream
        token = stream.current
        if token.kind == "(":
            return BaseType(self.parenthesized(token))
        stream.expect("name", "a type")
        if token.text == "__torch__":
            text = token.text
            while stream.take("."):
                text += "." + stream.expect("name", "the class's name").text
            return BaseType(text)
        if token.text in COMPOUND_TYPES and stream.current.kind == "(":
            return BaseType(token.text + self.parenthesized(token))
        if token.text not in BASE_TYPES and token.text not in VERSIONED_TYPES:
            raise self.unknown_type(token)
        return BaseType(token.text)

    def parenthesized(self, opening: Token) -> str:
        """`(A, B)` as canonical text."""
        self.stream.expect("(", "`(`")
        parts = [str(self.type()[0])]
        while self.stream.take(","):
            parts.append(str(self.type()[0]))
        self.stream.expect(")", f"`)` to close {opening}")
        return f"({', '.join(parts)})"

    def unknown_type(self, token: Token) -> SyntaxProblem:
        """Make the error for a name that is no type."""
        following = self.stream.current
        help = type_help(token.text, following.kind, following.text)
        return self.stream.problem(f"unknown type `{token.text}`", token, code=UNKNOWN_TYPE, help=help)

    def alias(self) -> Alias | None:
        """Read an alias annotation, if there is one."""
        stream = self.stream
        bare = stream.take("!")
        if bare:
            message = "`!` without an alias letter: what torch prints for it does not parse again"
            problem = stream.problem(
                message, bare, code=BARE_MUTATION, help="write (a!), with a letter of its own"
            )
            self.report(problem, Severity.WARNING)
            return _FRESH
        if not stream.take("("):
            return None
        before = self.alias_set()
        is_write = stream.take("!") is not None
        after = self.alias_set() if stream.take("->") else ()
        stream.expect(")", "`)` at the end of the alias annotation")
        return Alias(before, is_write, after)

    def alias_set(self) -> tuple[str, ...]:
        """Read `a|b` or `*`."""
        what = "an alias letter, e.g. Tensor(a!) for an argument the operator writes"
        take: Callable[[], str] = lambda: "*" if self.stream.take("*") else self.identifier(what).text  # noqa: E731
        letters = {take()}
        while self.stream.take("|"):
            letters.add(take())
        # The wildcard set contains every other set.
        return ("*",) if "*" in letters else tuple(sorted(letters))

    def name_fresh_aliases(
        self, arguments: list[Argument], returns: list[Return]
    ) -> tuple[list[Argument], list[Return]]:
        """Give each `Tensor!` a letter that the schema does not use elsewhere."""
        aliases = [a.alias for a in arguments if a.alias] + [r.alias for r in returns if r.alias]
        if _FRESH not in aliases:
            return arguments, returns
        used = {letter for alias in aliases for letter in (*alias.before, *alias.after)}
        fresh = (name for name in alias_letters() if name not in used)

        def named(alias: Alias | None) -> Alias | None:
            return Alias((next(fresh),), True) if alias is _FRESH else alias

        return (
            [replace(a, alias=named(a.alias)) for a in arguments],
            [replace(r, alias=named(r.alias)) for r in returns],
        )


def alias_letters() -> Iterator[str]:
    """Yield a, b, ..., z, a1, b1, ..."""
    round_ = 0
    while True:
        for letter in "abcdefghijklmnopqrstuvwxyz":
            yield letter if round_ == 0 else f"{letter}{round_}"
        round_ += 1
