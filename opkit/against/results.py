"""Comparing what a Python function returns with the operator's results.

What torch (2.6 to 2.13) makes of a Python kernel's value: for `()` it must be None; for one result it is that
result, and a tuple is none; for several it is a tuple or list of as many.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from opkit.against.declared import finding, listed
from opkit.against.flow import Flow
from opkit.against.registration import Kind
from opkit.model.diagnostic import Diagnostic, Severity
from opkit.model.schema import ListType, OptionalType, Return, is_tensor_like

# Methods whose result shares memory with the tensor, whatever the tensor is like.
_VIEWS = frozenset(
    ["view", "view_as", "transpose", "t", "permute", "squeeze", "unsqueeze", "narrow", "select", "expand"]
)

COUNT = "OPK225"
RETURNED = "OPK231"


def check_results(flow: Flow) -> Iterator[Diagnostic]:
    """Report the first `return` with the wrong number of values, and returned arguments."""
    returns = [n for n in flow.nodes if isinstance(n, ast.Return)]
    if isinstance(flow.function, ast.Lambda):
        returns = [ast.copy_location(ast.Return(flow.function.body), flow.function.body)]
    if flow.registration.kind is not Kind.CONVERTER or flow.declared.returns:
        yield from _check_count(flow, returns)
    if flow.registration.kind is not Kind.CONVERTER:
        yield from _check_returned(flow, returns)


def _check_count(flow: Flow, returns: list[ast.Return]) -> Iterator[Diagnostic]:
    declared, what = flow.declared, flow.registration.kind.value
    for statement in returns:
        for value in flow.meanings(statement.value) if statement.value else []:
            found = _shape(flow, value)
            problem = _wrong_count(flow, found)
            if problem:
                message = f"the {what} of {declared.name} returns {problem}, the schema {_returns(flow)}"
                at = declared.op.schema.returns[0].mark if declared.op.schema.returns else None
                mark = flow.source.mark(statement)
                yield finding(COUNT, Severity.ERROR, declared, message, mark, _help(flow), at)
                return
    if declared.returns and flow.registration.kind.is_meta and _never_returns(flow, returns):
        message = f"the {what} of {declared.name} returns nothing, the schema {_returns(flow)}"
        mark = flow.source.mark(flow.function)
        yield finding(COUNT, Severity.ERROR, declared, message, mark, _help(flow))


def _returns(flow: Flow) -> str:
    count = len(flow.declared.returns)
    return f"has {count} result{'s' * (count != 1)}" if count else "returns ()"


def _help(flow: Flow) -> str:
    count = len(flow.declared.returns)
    if count == 0:
        return "return nothing"
    return "return the result itself, not a tuple" if count == 1 else f"return a tuple of {count}"


def _shape(flow: Flow, value: ast.expr) -> str | int | None:
    """How many values: a number for a tuple or list, "one", "none", or None if it cannot be told."""
    if isinstance(value, (ast.Tuple, ast.List)):
        return None if any(isinstance(e, ast.Starred) for e in value.elts) else len(value.elts)
    if isinstance(value, ast.Constant):
        return "none" if value.value is None else "one"
    if isinstance(value, ast.Name) and value.id in flow.arguments:
        argument = flow.arguments[value.id]
        if isinstance(argument.type, ListType):
            return "a list"
        return (
            "one" if is_tensor_like(argument.type) and not isinstance(argument.type, OptionalType) else None
        )
    return "one" if flow.is_fresh(value) else None


def _wrong_count(flow: Flow, found: str | int | None) -> str:
    """Say what is wrong with the value; empty if nothing is."""
    returns = flow.declared.returns
    if found is None or found == "none":
        return ""
    said = f"{found} value{'s' * (found != 1)}" if isinstance(found, int) else found.replace("one", "a value")
    if not returns:
        return said
    if len(returns) == 1:
        is_list = isinstance(returns[0].type, ListType)
        if is_list:
            return "a value that is no list" if found == "one" else ""
        if isinstance(found, int):
            return f"a tuple of {found}"
        return "a list" if found == "a list" else ""
    if found == "one":
        return "one value"
    return said if isinstance(found, int) and found != len(returns) else ""


def _never_returns(flow: Flow, returns: list[ast.Return]) -> bool:
    """Tell whether the function always gives None: it has no `return` with a value and does not raise."""
    if isinstance(flow.function, ast.Lambda):
        return False
    gives = any(
        r.value is not None and not (isinstance(r.value, ast.Constant) and r.value.value is None)
        for r in returns
    )
    raises = any(isinstance(n, ast.Raise) for n in flow.function.body)
    stub = all(
        isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant) and n.value.value is ...
        for n in flow.function.body
    )
    yields = any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in flow.nodes)
    return not gives and not raises and not yields and not stub


def _check_returned(flow: Flow, returns: list[ast.Return]) -> Iterator[Diagnostic]:
    """Report results that are an argument without saying so in the schema, or the other way round."""
    seen: set[str] = set()
    for result, value in _results(flow, returns):
        problem = _returned_problem(flow, result, value)
        if problem is None or problem[0] in seen:
            continue
        text, help = problem
        seen.add(text)
        message = f"the {flow.registration.kind.value} of {flow.declared.name} {text}"
        mark = flow.source.mark(value)
        yield finding(RETURNED, Severity.ERROR, flow.declared, message, mark, help, result.mark)


def _results(flow: Flow, returns: list[ast.Return]) -> Iterator[tuple[Return, ast.expr]]:
    """Pair the schema's results with the expressions that may be given for them."""
    results = flow.declared.returns
    for statement in returns:
        for value in flow.meanings(statement.value) if statement.value else []:
            if isinstance(value, (ast.Tuple, ast.List)):
                items = value.elts
            else:
                items = [value] if len(results) == 1 else []
            if len(items) == len(results):
                for result, item in zip(results, items):
                    for meaning in flow.meanings(item):
                        yield result, meaning


def _returned_problem(flow: Flow, result: Return, value: ast.expr) -> tuple[str, str] | None:
    letters = set(result.alias.before) if result.alias else set()
    viewed = _viewed(flow, value)
    if result.alias is None and flow.registration.kind.is_meta and viewed:
        return (
            f"returns a view of its argument `{viewed}`, the schema a fresh result",
            "return a new tensor of that shape, e.g. with new_empty",
        )
    argument = flow.arguments.get(value.id) if isinstance(value, ast.Name) else None
    if argument is not None and is_tensor_like(argument.type):
        if argument.alias and letters & set(argument.alias.before):
            return None
        return (
            f"returns its argument `{ast.unparse(value)}`, the schema a fresh result",
            f"return a new tensor, e.g. torch.empty_like({ast.unparse(value)})",
        )
    if result.alias is not None and result.alias.is_write and flow.is_fresh(value):
        everything = (*flow.declared.positional, *flow.declared.keyword_only)
        names = [a.name for a in everything if a.alias and letters & set(a.alias.before)]
        return f"returns a fresh tensor, the schema its argument {listed(names)}", "return the argument"
    return None


def _viewed(flow: Flow, value: ast.expr) -> str:
    """Give the tensor argument that `x.view(-1)` or `x.t().narrow(...)` is a view of; empty if it is none."""
    calls = 0
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        if value.func.attr not in _VIEWS:
            return ""
        calls, value = calls + 1, value.func.value
    name = value.id if isinstance(value, ast.Name) else ""
    argument = flow.arguments.get(name) if calls and name not in flow.assigned else None
    return name if argument is not None and argument.is_tensor else ""
