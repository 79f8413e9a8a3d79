"""C++ kernels that write or return an argument their schema says is only read.

A graph believes the schema: it drops a call whose results nobody reads although the call wrote a cache,
and it takes a result for memory of its own although it is an argument.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from opkit.against.cpp.functions import CppFunction
from opkit.against.cpp.libraries import CppRegistration
from opkit.against.cpp.writes import find_writes
from opkit.against.declared import Declarations, Declared, finding
from opkit.model.diagnostic import Diagnostic, Severity
from opkit.model.schema import Argument, Return, is_tensor_like

PARAMETERS = "OPK221"
RETURNED = "OPK240"
WRITTEN = "OPK241"

_EXEC = re.compile(r"EXEC_\w*CMD\w*")
_TUPLES = ("tie", "make_tuple", "forward_as_tuple", "tuple")
# What makes a new tensor in kernels of op-plugin and of torch's extensions.
_MAKES = re.compile(r"apply_tensor\w*|empty\w*|zeros\w*|ones\w*|full\w*|new_empty|new_zeros|clone")


def check_kernels(
    declarations: Declarations, functions: Iterable[CppFunction], registrations: Iterable[CppRegistration]
) -> Iterator[Diagnostic]:
    """Report what each kernel that can be told to belong to an operator does to its arguments."""
    functions = list(functions)
    operators: dict[str, list[str]] = {}
    for r in registrations:
        if r.function and r.key != "Meta":
            operators.setdefault(r.function, []).append(r.name)
    by_cpp_name: dict[str, list[Declared]] = {}
    for declared in declarations.all:
        for name in _cpp_names(declared):
            by_cpp_name.setdefault(name, []).append(declared)
    for r in registrations:
        kernel = r.kernel if r.key != "Meta" else None
        declared_for = _choose(kernel, declarations.named(r.name)) if kernel else None
        if kernel is not None and declared_for is not None:
            yield from _Kernel(kernel, declared_for).check()
    for function in functions:
        named = [d for name in operators.get(function.name, []) for d in declarations.named(name)]
        alone = sum(other.name == function.name for other in functions) == 1
        if len(named) == 1 and alone:
            yield from _check_count(function, named[0])
        declared_for = _choose(function, named or by_cpp_name.get(function.name, []))
        if declared_for is not None:
            yield from _Kernel(function, declared_for).check()


def _check_count(function: CppFunction, declared: Declared) -> Iterator[Diagnostic]:
    """Report a registered function with another number of parameters; torch refuses it when it is loaded."""
    types = [p.type for p in function.parameters]
    wanted, found = len(declared.op.schema.arguments), len(function.arguments)
    # A boxed kernel takes a stack, and TensorOptions stands for four arguments.
    if found == wanted or any("Stack" in t or "TensorOptions" in t for t in types):
        return
    message = (
        f"the C++ kernel of {declared.name} takes {found} argument{'s' * (found != 1)}, the schema {wanted}"
    )
    mark = function.source.mark(function.token)
    help = f"the schema: {declared.op.schema}"
    yield finding(PARAMETERS, Severity.ERROR, declared, message, mark, help, declared.op.schema.mark)


def _cpp_names(declared: Declared) -> list[str]:
    """op-plugin's names: the base name, `_out` for an out variant, `_symint` where sizes are SymInt."""
    schema = declared.op.schema
    base = schema.name.base
    if any(a.kwarg_only and a.is_mutated for a in schema.arguments):
        base += "_out"
    return [base, f"{base}_symint"]


def _choose(function: CppFunction, candidates: list[Declared]) -> Declared | None:
    """Give the overload a definition is of: as many arguments, and the most names in common."""
    names = {p.name for p in function.parameters}
    count = len(function.arguments)
    fitting = [d for d in candidates if len(d.op.schema.arguments) == count]
    return max(fitting, key=lambda d: sum(a.name in names for a in d.op.schema.arguments), default=None)


@dataclass(frozen=True)
class _Kernel:
    function: CppFunction
    declared: Declared

    @cached_property
    def read_only(self) -> dict[str, Argument]:
        """Parameter -> the argument it is, for tensors the schema does not let the kernel write."""
        parameters = self.function.parameters
        arguments = self.declared.op.schema.arguments
        by_name = {a.name: a for a in arguments}
        in_order = dict(zip((p.name for p in parameters), _out_last(arguments)))
        found = {}
        for p in parameters:
            argument = by_name.get(p.name) or in_order.get(p.name)
            if argument is None or not p.is_tensor or not is_tensor_like(argument.type):
                continue
            if not argument.is_mutated and p.name not in self.assigned:
                found[p.name] = argument
        return found

    @cached_property
    def texts(self) -> list[str]:
        return self.function.source.texts(self.function.body)

    @cached_property
    def assigned(self) -> set[str]:
        """Names given another value after they are declared."""
        return {
            self.texts[i]
            for i in range(len(self.texts) - 1)
            if self.texts[i + 1] == "=" and (i == 0 or self.texts[i - 1] in (";", "{", "}", ")", "else"))
        }

    @cached_property
    def stands_for(self) -> dict[str, str]:
        """Local name -> the parameter it is another name of."""
        found: dict[str, str] = {name: name for name in self.read_only}
        for i in range(1, len(self.texts) - 2):
            if self.texts[i + 1] != "=" or not self.texts[i - 1].endswith(("Tensor", "&", "auto")):
                continue
            end = next((j for j in range(i + 2, len(self.texts)) if self.texts[j] == ";"), len(self.texts))
            value = self.texts[i + 2 : end]
            if len(value) > 4 and value[0] == "const_cast" and value[-3] == "(":
                value = value[-2:-1]
            if len(value) == 1 and value[0] in found and self.texts[i] not in self.assigned:
                found[self.texts[i]] = found[value[0]]
        return found

    def check(self) -> Iterator[Diagnostic]:
        launches = list(self.launches())
        reported: set[str] = set()
        for span, result in self.returned():
            texts = self.function.source.texts(span)
            if texts[:3] == ["std", "::", "move"] and len(texts) == 6:
                texts = texts[4:5]
            name = self.stands_for.get(texts[0]) if texts else None
            if name is None or name in reported:
                continue
            argument = self.read_only[name]
            if len(texts) == 1 and not _shares(argument, result):
                reported.add(name)
                yield self.finding(
                    RETURNED,
                    Severity.ERROR,
                    span,
                    argument,
                    f"returns its argument `{name}`, which the schema says it only reads",
                    f"return a new tensor; if the kernel writes it, declare it Tensor(a!) {argument.name}",
                )
            elif texts[1:] == [".", "clone", "(", ")"] and self.is_launched(name, span.start, launches):
                reported.add(name)
                yield self.finding(
                    WRITTEN,
                    Severity.WARNING,
                    span,
                    argument,
                    f"returns a copy of its argument `{name}` after launching with it, so it writes it",
                    f"declare it written, Tensor(a!) {argument.name}, or launch with the copy",
                )
        for launch in launches:
            yield from self.check_launch(launch, reported)
        for span, name in find_writes(self.function, self.stands_for):
            if name in reported:
                continue
            reported.add(name)
            argument = self.read_only[name]
            call = "".join(self.function.source.texts(range(span.stop - 1, span.stop)))
            text = f"writes its argument `{name}` with {call}, which the schema says it only reads"
            help = f"declare it written, Tensor(a!) {argument.name}, or write a copy"
            yield self.finding(WRITTEN, Severity.ERROR, span, argument, text, help)

    def check_launch(self, launch: list[range], reported: set[str]) -> Iterator[Diagnostic]:
        """An aclnn function's outputs come last; `aclnnInplace...` writes its first argument."""
        if len(launch) < 2:
            return
        aclnn = "".join(self.function.source.texts(launch[0]))
        written = launch[1] if aclnn.startswith("aclnnInplace") else launch[-1]
        if not aclnn.startswith("aclnnInplace") and self.has_other_output(launch):
            return
        texts = self.function.source.texts(written)
        name = self.stands_for.get(texts[0]) if len(texts) == 1 else None
        if name is None or name in reported:
            return
        reported.add(name)
        argument = self.read_only[name]
        yield self.finding(
            WRITTEN,
            Severity.WARNING,
            written,
            argument,
            f"gives its argument `{name}` to {aclnn} as the output, which the schema says it only reads",
            f"declare it written, Tensor(a!) {argument.name}, or launch into a new tensor",
        )

    def has_other_output(self, launch: list[range]) -> bool:
        """Tell whether an argument of a launch may be its output: anything that is no parameter."""
        inputs = {p.name for p in self.function.parameters} - {
            a.name for a in self.declared.op.schema.mutated
        }
        for span in launch[1:]:
            texts = self.function.source.texts(span)
            if len(texts) == 1 and texts[0].isidentifier() and texts[0] not in inputs:
                return True
            if len(texts) > 1 and any(_MAKES.fullmatch(t) for t in texts):
                return True
        return False

    def is_launched(self, name: str, before: int, launches: list[list[range]]) -> bool:
        """Tell whether a launch that stands before a token is given the parameter."""
        texts = [
            self.function.source.texts(span) for launch in launches for span in launch if span.stop < before
        ]
        return any(len(t) == 1 and self.stands_for.get(t[0]) == name for t in texts)

    def launches(self) -> Iterator[list[range]]:
        """The arguments of each EXEC_NPU_CMD, the aclnn name first."""
        source = self.function.source
        for i in self.function.body:
            if _EXEC.fullmatch(source.tokens[i].text) and i + 1 in source.closing:
                yield source.split(i + 2, source.closing[i + 1])

    def returned(self) -> Iterator[tuple[range, Return | None]]:
        """Each expression that is returned, with the result it is."""
        source, returns = self.function.source, self.declared.op.schema.returns
        inside = self.lambdas()
        for i in self.function.body:
            if source.tokens[i].text != "return" or i in inside:
                continue
            end = i + 1
            while end < self.function.body.stop and source.tokens[end].text != ";":
                end = source.closing.get(end, end) + 1
            items = self.items(range(i + 1, end))
            for k, item in enumerate(items):
                yield item, returns[k] if len(items) == len(returns) else None

    def items(self, span: range) -> list[range]:
        """The elements of `std::tie(a, b)`, `{a, b}` or of a plain expression."""
        source = self.function.source
        if not span:
            return []
        texts = source.texts(span)
        closes = source.closing.get(span.start)
        if texts[0] in ("{", "(") and closes == span.stop - 1:
            return source.split(span.start + 1, closes)
        if texts[:2] == ["std", "::"] and len(texts) > 3 and texts[2] in _TUPLES:
            for i in span:
                if source.tokens[i].text in ("(", "{") and source.closing.get(i) == span.stop - 1:
                    return source.split(i + 1, span.stop - 1)
        return [span]

    def lambdas(self) -> set[int]:
        """The tokens inside of lambdas: what they return is not what the kernel returns."""
        source, found = self.function.source, set()
        for i in self.function.body:
            if source.tokens[i].text != "{" or i not in source.closing:
                continue
            before = i - 1
            if source.tokens[before].text == ")":
                opening = next((o for o, c in source.closing.items() if c == before), 0)
                before = opening - 1
            if source.tokens[before].text == "]":
                found |= set(range(i, source.closing[i]))
        return found

    def finding(
        self, code: str, severity: Severity, span: range, argument: Argument, text: str, help: str
    ) -> Diagnostic:
        source = self.function.source
        mark = source.mark(source.tokens[span.start], source.tokens[span.stop - 1])
        message = f"the C++ kernel of {self.declared.name} {text}"
        return finding(code, severity, self.declared, message, mark, help, argument.mark)


def _out_last(arguments: tuple[Argument, ...]) -> list[Argument]:
    """The order of C++ parameters: the schema's, with `out` arguments last."""
    return sorted(arguments, key=lambda a: a.kwarg_only and a.is_mutated)


def _shares(argument: Argument, result: Return | None) -> bool:
    if argument.alias is None or result is None or result.alias is None:
        return False
    return bool(set(argument.alias.before) & set(result.alias.before))
