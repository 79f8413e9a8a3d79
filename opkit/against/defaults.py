"""Whether a Python default is the value the dispatcher would give for the schema's default."""

from __future__ import annotations

import ast

from opkit.against.python_source import PythonSource
from opkit.against.registration import Kind, Registration
from opkit.model.diagnostic import Severity
from opkit.model.schema import Argument, base_of
from opkit.shape.constants import LAYOUTS, MEMORY_FORMATS, SCALAR_TYPES

# Types whose default is a number in the schema and an object of torch in Python.
_ENUMS = {"ScalarType": SCALAR_TYPES, "MemoryFormat": MEMORY_FORMATS, "Layout": LAYOUTS}
_ALIASES = {"half": "float16", "float": "float32", "double": "float64", "int": "int32", "long": "int64"}
_UNKNOWN = object()


def differs(argument: Argument, default: ast.expr, registration: Registration) -> Severity | None:
    """Compare; None if equal, or if the Python default cannot be told without running the file."""
    assert argument.default is not None
    source = registration.source
    value = _value(default, source)
    if value is _UNKNOWN:
        return None
    expected: object = argument.default.value
    base = base_of(argument.type).name
    if base in _ENUMS and type(expected) is int and 0 <= expected < len(_ENUMS[base]):
        if registration.kind is Kind.CONVERTER:
            return None  # converters get GE's numbers for them
        expected = _Torch(_ENUMS[base][expected])
    elif base == "Device" and isinstance(value, _Torch):
        return None
    if value is None and expected is not None:
        set_later = _set_if_none(registration, argument, default)
        value = value if set_later is None else _value(set_later, source)
    severity = _compare(expected, value)
    if severity is Severity.ERROR and expected is None and registration.kind is Kind.CONVERTER:
        return Severity.WARNING  # GE's attributes cannot be None, so a converter has to choose a value
    return severity


def _set_if_none(registration: Registration, argument: Argument, default: ast.expr) -> ast.expr | None:
    """Find what `if p is None: p = value` at the head of the function makes of the parameter."""
    function = registration.function
    if function is None or isinstance(function, ast.Lambda):
        return None
    name = next((p.arg for p, d in _defaults(function) if d is default), argument.name)
    for node in function.body:
        if (
            isinstance(node, ast.If)
            and ast.unparse(node.test) == f"{name} is None"
            and len(node.body) == 1
            and isinstance(node.body[0], ast.Assign)
            and ast.unparse(node.body[0].targets[0]) == name
        ):
            return node.body[0].value
    return None


def _defaults(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[tuple[ast.arg, ast.expr | None]]:
    args = function.args
    positional = [*args.posonlyargs, *args.args]
    with_default = positional[len(positional) - len(args.defaults) :]
    return [*zip(with_default, args.defaults), *zip(args.kwonlyargs, args.kw_defaults)]


class _Torch(str):
    """An object of torch, by its name in the module: a dtype, a layout, a memory format."""


def _compare(expected: object, value: object) -> Severity | None:
    if isinstance(expected, tuple) or isinstance(value, tuple):
        if not isinstance(expected, tuple) or not isinstance(value, tuple) or len(expected) != len(value):
            return Severity.ERROR
        found = [_compare(e, v) for e, v in zip(expected, value)]
        worst = [s for s in (Severity.ERROR, Severity.WARNING, Severity.NOTE) if s in found]
        return worst[0] if worst else None
    if isinstance(expected, (str, _Torch)) or isinstance(value, (str, _Torch)):
        return None if expected == value and type(expected) is type(value) else Severity.ERROR
    if expected is None or value is None or expected != value:
        return None if expected is value else Severity.ERROR
    if type(expected) is type(value):
        return None
    # Equal, but of another type: a float size specialises a symbolic dim, the rest is harmless.
    return Severity.WARNING if isinstance(value, float) else Severity.NOTE


def _value(node: ast.expr, source: PythonSource) -> object:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, (ast.Tuple, ast.List)):
        items = [_value(item, source) for item in node.elts]
        return _UNKNOWN if any(item is _UNKNOWN for item in items) else tuple(items)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _value(node.operand, source)
        return -value if isinstance(value, (int, float, complex)) else _UNKNOWN
    if isinstance(node, ast.Name) and node.id in source.constants:
        value = source.constants[node.id]
        return _value(value, source) if isinstance(value, (ast.Constant, ast.UnaryOp)) else _UNKNOWN
    dotted = source.dotted(node)
    if dotted.startswith("torch.") and dotted.count(".") == 1:
        name = dotted[len("torch.") :]
        name = _ALIASES.get(name, name)
        if any(name in names for names in _ENUMS.values()):
            return _Torch(name)
    return _UNKNOWN
