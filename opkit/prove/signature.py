"""Compares a Meta function's signature with the schema.

The dispatcher passes positional arguments by position and keyword-only ones by name, and drops trailing
arguments that equal their default; a Meta function must therefore have a default wherever the schema has one,
and the same.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any


def differences(function: Callable[..., Any], schema: Any) -> list[str]:
    """List what a `torch._C.FunctionSchema` has and the Python function has not; empty when they agree.

    Renamed positional parameters are no difference. A function whose signature Python cannot tell gives none.
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []
    kinds = {p.kind for p in parameters}
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    by_name = {p.name: p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    found = []
    used = set()
    arguments = [a for a in schema.arguments if not a.kwarg_only]
    for index, argument in enumerate(arguments):
        if index < len(positional):
            used.add(positional[index].name)
            found += _default_difference(argument, positional[index])
        elif inspect.Parameter.VAR_POSITIONAL not in kinds:
            found.append(f"it has no parameter for `{argument.name}`")
    for argument in schema.arguments:
        if not argument.kwarg_only:
            continue
        if argument.name in by_name:
            used.add(argument.name)
            found += _default_difference(argument, by_name[argument.name])
        elif inspect.Parameter.VAR_KEYWORD not in kinds:
            found.append(f"it has no keyword parameter `{argument.name}`")
    extra = [p.name for p in by_name.values() if p.name not in used and p.default is p.empty]
    return found + [f"its parameter `{name}` is not in the schema and has no default" for name in extra]


def _default_difference(argument: Any, parameter: inspect.Parameter) -> list[str]:
    has_default = parameter.default is not parameter.empty
    if argument.has_default_value() and not has_default:
        value = argument.default_value
        return [f"`{argument.name}` has a default ({value!r}) in the schema, none in the function"]
    if not argument.has_default_value():
        # A default the schema has not is never used: the dispatcher always passes the argument.
        return []
    if not _equal(argument.default_value, parameter.default):
        values = f"{argument.default_value!r} in the schema and to {parameter.default!r} in the function"
        return [f"`{argument.name}` defaults to {values}"]
    return []


def _equal(schema: Any, python: Any) -> bool:
    import torch

    if isinstance(python, torch.dtype) and isinstance(schema, int):
        # A ScalarType default is its number in a parsed schema.
        return python is scalar_type(schema)
    if isinstance(schema, (list, tuple)) and isinstance(python, (list, tuple)):
        return list(schema) == list(python)
    # 1 and True compare equal in Python but are different defaults.
    return bool(schema == python) and isinstance(schema, bool) == isinstance(python, bool)


def scalar_type(number: int) -> Any:
    """Give the torch dtype for the number that a parsed schema has as a ScalarType default."""
    import torch

    return torch.ops.aten.empty.memory_format([0], dtype=number, device="meta").dtype
