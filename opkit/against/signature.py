"""Comparing the parameters of a Python function with the operator's arguments.

How torch (2.6 to 2.13) calls a Python kernel: positional arguments by position, keyword-only ones by name,
and without the trailing ones that equal the schema's default. So names of positional parameters do not
matter, while each argument with a default needs a parameter with the same one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

from opkit.against.declared import Declared, finding, listed
from opkit.against.defaults import differs
from opkit.against.python_source import Function
from opkit.against.registration import Kind, Registration
from opkit.model.diagnostic import Diagnostic, Severity
from opkit.model.schema import Argument

PARAMETERS = "OPK221"
REQUIRED = "OPK222"
DEFAULT = "OPK223"
RENAMED = "OPK224"


@dataclass(frozen=True)
class Parameter:
    """One parameter of a function."""

    name: str
    default: ast.expr | None
    node: ast.arg


@dataclass(frozen=True)
class Parameters:
    """The parameters of a function."""

    positional: tuple[Parameter, ...]
    keyword_only: tuple[Parameter, ...]
    takes_any_positional: bool
    takes_any_keyword: bool

    @property
    def all(self) -> tuple[Parameter, ...]:
        """All named parameters."""
        return (*self.positional, *self.keyword_only)


def parameters_of(function: Function, kind: Kind) -> Parameters:
    """Read the parameters; torchair's own `meta_outputs` of a converter is left out."""
    args = function.args
    nodes = [*args.posonlyargs, *args.args]
    defaults = [None] * (len(nodes) - len(args.defaults)) + list(args.defaults)
    extra = {"meta_outputs"} if kind is Kind.CONVERTER else set()
    return Parameters(
        tuple(Parameter(n.arg, d, n) for n, d in zip(nodes, defaults) if n.arg not in extra),
        tuple(
            Parameter(n.arg, d, n) for n, d in zip(args.kwonlyargs, args.kw_defaults) if n.arg not in extra
        ),
        args.vararg is not None,
        args.kwarg is not None,
    )


@dataclass(frozen=True)
class Matching:
    """Which parameter takes which argument, and what is left over."""

    pairs: tuple[tuple[Argument, Parameter], ...]
    problems: tuple[tuple[Severity, str], ...]
    renamed: tuple[tuple[Argument, Parameter], ...]


def match(declared: Declared, parameters: Parameters) -> Matching:
    """Match the parameters with the arguments as a call does."""
    keywords = {a.name: a for a in declared.keyword_only}
    by_position = [p for p in parameters.positional if p.name not in keywords]
    pairs: list[tuple[Argument, Parameter]] = []
    problems: list[tuple[Severity, str]] = []
    if tuple(by_position) != parameters.positional[: len(by_position)] and declared.positional:
        early = [p.name for p in parameters.positional[: len(by_position)] if p.name in keywords]
        problems.append(
            (Severity.ERROR, f"{listed(early)} is keyword-only in the schema, so it is given twice")
        )
    renamed = _match_positional(declared, parameters, by_position, pairs, problems)
    by_name = {p.name: p for p in parameters.all}
    for argument in declared.keyword_only:
        if argument.name in by_name:
            pairs.append((argument, by_name[argument.name]))
        elif not parameters.takes_any_keyword:
            problems.append((Severity.ERROR, f"keyword-only argument `{argument.name}` is missing"))
    positional = {a.name for a in declared.positional}
    for parameter in parameters.keyword_only:
        if parameter.name in keywords or parameter.name in positional:
            continue
        problems.append(_superfluous(parameter))
    return Matching(tuple(pairs), tuple(problems), tuple(renamed))


def _superfluous(parameter: Parameter) -> tuple[Severity, str]:
    if parameter.default is None:
        return Severity.ERROR, f"`{parameter.name}` is not in the schema, but required"
    return Severity.WARNING, f"`{parameter.name}` is not in the schema, so it is never given"


def _plain(name: str) -> str:
    """Names that mean the same: torch_npu registers `self` as `input`."""
    name = name.strip("_")
    return "input" if name == "self" else name


def _match_positional(
    declared: Declared,
    parameters: Parameters,
    by_position: list[Parameter],
    pairs: list[tuple[Argument, Parameter]],
    problems: list[tuple[Severity, str]],
) -> list[tuple[Argument, Parameter]]:
    wanted = declared.positional
    names, given = [_plain(a.name) for a in wanted], [_plain(p.name) for p in by_position]
    if len(wanted) == len(by_position):
        pairs += zip(wanted, by_position)
        shifted = [
            p for n, g, p in zip(names, given, by_position) if n != g and g in names and given.count(g) == 1
        ]
        # One such name is a renaming (x1 for self beside x2 for x1); two have changed places.
        if len({n for n, g in zip(names, given) if n != g} & set(given)) > 1:
            what = ", ".join(f"`{p.name}` receives `{wanted[by_position.index(p)].name}`" for p in shifted)
            problems.append((Severity.WARNING, f"the order differs: {what}"))
            return []
        return [(a, p) for a, p, n, g in zip(wanted, by_position, names, given) if n != g]
    if len(wanted) > len(by_position) and parameters.takes_any_positional:
        pairs += zip(wanted, by_position)
        return []
    _match_unequal(wanted, by_position, (names, given), parameters, pairs, problems)
    return []


def _match_unequal(
    wanted: tuple[Argument, ...],
    by_position: list[Parameter],
    spelled: tuple[list[str], list[str]],
    parameters: Parameters,
    pairs: list[tuple[Argument, Parameter]],
    problems: list[tuple[Severity, str]],
) -> None:
    keyword_only = {p.name for p in parameters.keyword_only}
    names, given = spelled
    for _, i1, i2, j1, j2 in SequenceMatcher(None, names, given, autojunk=False).get_opcodes():
        both = min(i2 - i1, j2 - j1)
        pairs += zip(wanted[i1 : i1 + both], by_position[j1 : j1 + both])
        for i in range(i1 + both, i2):
            argument = wanted[i]
            if argument.name in keyword_only:
                text = f"`{argument.name}` is keyword-only here, but given by position"
            else:
                text = f"argument {i + 1}, `{argument.name}`, is missing"
                if i1 + both < len(wanted) and j2 < len(by_position):
                    text += ", which shifts those after it"
            problems.append((Severity.ERROR, text))
        for parameter in by_position[j1 + both : j2]:
            if j2 < len(by_position):
                problems.append(
                    (Severity.ERROR, f"`{parameter.name}` is not in the schema, which shifts those after it")
                )
            else:
                problems.append(_superfluous(parameter))


def check_signature(declared: Declared, registration: Registration) -> Iterator[Diagnostic]:
    """Compare parameters and defaults."""
    function, source = registration.function, registration.source
    assert function is not None
    matching = match(declared, parameters_of(function, registration.kind))
    what = registration.kind.value
    if matching.problems:
        errors = [text for severity, text in matching.problems if severity is Severity.ERROR]
        severity = Severity.ERROR if errors else Severity.WARNING
        text = "; ".join(text for _, text in matching.problems)
        message = f"the {what} of {declared.name} does not take the schema's arguments: {text}"
        help = f"the schema's arguments: {_arguments(declared)}"
        yield finding(PARAMETERS, severity, declared, message, source.mark(function), help)
    missing = [(a, p) for a, p in matching.pairs if a.default is not None and p.default is None]
    if missing:
        which = ", ".join(f"`{p.name}`" for _, p in missing)
        message = f"the {what} of {declared.name} requires {which}, which a call with the default leaves out"
        help = f"give {'them defaults' if len(missing) > 1 else 'it a default'}: " + ", ".join(
            f"{p.name}={a.default.text}" for a, p in missing if a.default
        )
        argument, parameter = missing[0]
        yield finding(
            REQUIRED, Severity.ERROR, declared, message, source.mark(parameter.node), help, argument.mark
        )
    for argument, parameter in matching.pairs:
        if argument.default is not None and parameter.default is not None:
            yield from _check_default(declared, registration, argument, parameter)
    if registration.kind is Kind.CONVERTER and declared.op.schema.mutated:
        yield from _check_keywords(declared, registration, matching)
    elif matching.renamed:
        pairs = ", ".join(f"`{a.name}` is `{p.name}`" for a, p in matching.renamed)
        message = f"the {what} of {declared.name} calls arguments otherwise: {pairs}"
        help = "nothing breaks, they are given by position; the schema's names are easier to follow"
        mark = source.mark(matching.renamed[0][1].node)
        yield finding(RENAMED, Severity.NOTE, declared, message, mark, help, matching.renamed[0][0].mark)


def _check_keywords(
    declared: Declared, registration: Registration, matching: Matching
) -> Iterator[Diagnostic]:
    """Check a converter that torchair calls by name: that of an operator which writes an argument.

    From `auto_functionalized_v2.py` of torchair in torch_npu 2.13; it passes no `meta_outputs` there.
    """
    source, function = registration.source, registration.function
    assert function is not None
    if matching.renamed:
        pairs = ", ".join(f"`{a.name}` is `{p.name}`" for a, p in matching.renamed)
        message = f"torchair calls the converter of {declared.name} by the schema's names: {pairs}"
        mark = source.mark(matching.renamed[0][1].node)
        help = f"the schema's arguments: {_arguments(declared)}"
        yield finding(PARAMETERS, Severity.ERROR, declared, message, mark, help, matching.renamed[0][0].mark)
    args = function.args
    nodes = [*args.posonlyargs, *args.args]
    required = nodes[: len(nodes) - len(args.defaults)]
    required += [n for n, default in zip(args.kwonlyargs, args.kw_defaults) if default is None]
    for node in required:
        if node.arg == "meta_outputs":
            message = f"the converter of {declared.name} requires `meta_outputs`, which is not given to one "
            message += "whose operator writes an argument"
            help = "give it a default: meta_outputs=None"
            yield finding(REQUIRED, Severity.ERROR, declared, message, source.mark(node), help)


def _check_default(
    declared: Declared, registration: Registration, argument: Argument, parameter: Parameter
) -> Iterator[Diagnostic]:
    assert argument.default is not None
    assert parameter.default is not None
    severity = differs(argument, parameter.default, registration)
    if severity is None:
        return
    written = ast.unparse(parameter.default)
    message = (
        f"`{parameter.name}` of the {registration.kind.value} of {declared.name} defaults to {written}, "
        f"in the schema to {argument.default.text}"
    )
    help = (
        f"write the schema's default, {argument.default.text}: a call that gives it leaves the argument out"
    )
    mark = registration.source.mark(parameter.default)
    yield finding(DEFAULT, severity, declared, message, mark, help, argument.mark)


def _arguments(declared: Declared) -> str:
    parts = [a.name for a in declared.positional]
    if declared.keyword_only:
        parts += ["*", *(a.name for a in declared.keyword_only)]
    return ", ".join(parts)
