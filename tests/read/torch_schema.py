"""Compare a schema as opkit reads it with what torch's own parser makes of the text."""

from __future__ import annotations

from typing import Any

from opkit.model.schema import Argument, OperatorSchema, OptionalType, Return, base_of, is_tensor_like


def differences(schema: OperatorSchema, theirs: Any) -> list[str]:
    """List what differs, argument by argument; `theirs` is a torch._C.FunctionSchema."""
    found = []
    if f"{theirs.name}.{theirs.overload_name}".rstrip(".") != schema.name.qualified:
        found.append(f"name {theirs.name}.{theirs.overload_name} != {schema.name.qualified}")
    if len(theirs.arguments) != len(schema.arguments) or len(theirs.returns) != len(schema.returns):
        return [*found, "number of arguments or returns"]
    for mine, argument in zip(schema.arguments, theirs.arguments):
        found += _argument_differences(mine, argument)
    for result, theirs_result in zip(schema.returns, theirs.returns):
        name = theirs_result.name or None
        if name != result.name:
            found.append(f"return name {name} != {result.name}")
        found += _alias_differences("return", result, theirs_result)
        found += _type_differences("return", result, theirs_result)
    return found


def _argument_differences(mine: Argument, theirs: Any) -> list[str]:
    found = []
    if mine.name != theirs.name:
        found.append(f"name {theirs.name} != {mine.name}")
    if mine.kwarg_only != theirs.kwarg_only:
        found.append(f"{mine.name}: kwarg_only")
    if (mine.default is not None) != theirs.has_default_value():
        found.append(f"{mine.name}: has a default")
    elif mine.default is not None and not same_value(mine.default.value, theirs.default_value):
        found.append(f"{mine.name}: default {theirs.default_value!r} != {mine.default.value!r}")
    return found + _alias_differences(mine.name, mine, theirs) + _type_differences(mine.name, mine, theirs)


def _alias_differences(name: str, mine: Argument | Return, theirs: Any) -> list[str]:
    info = theirs.alias_info
    if (info is None) != (mine.alias is None):
        return [f"{name}: alias"]
    if info is None or mine.alias is None:
        return []
    found = [] if info.is_write == mine.alias.is_write else [f"{name}: is_write"]
    before = sorted(s.replace("alias::", "") for s in info.before_set)
    # The alias of a list's elements is not visible from Python; the wildcard contains every other set.
    if before and not before[0].startswith("$") and "*" not in before and tuple(before) != mine.alias.before:
        found.append(f"{name}: alias set {before} != {mine.alias.before}")
    return found


def _type_differences(name: str, mine: Argument | Return, theirs: Any) -> list[str]:
    found = []
    if is_tensor_like(mine.type) != _holds_tensor(theirs.type):
        found.append(f"{name}: holds a tensor")
    if isinstance(mine.type, OptionalType) != (theirs.type.kind() == "OptionalType"):
        found.append(f"{name}: is optional")
    depth = str(mine.type).count("[")
    if base_of(mine.type).name.isidentifier() and depth != _list_depth(theirs.type):
        found.append(f"{name}: list depth")
    return found


def _list_depth(type_: Any) -> int:
    kind = type_.kind()
    inner = type_.getElementType() if kind in ("ListType", "OptionalType") else None
    return 0 if inner is None else _list_depth(inner) + (kind == "ListType")


def _holds_tensor(type_: Any) -> bool:
    kind = type_.kind()
    if kind in ("ListType", "OptionalType"):
        return _holds_tensor(type_.getElementType())
    return bool(kind == "TensorType")


def same_value(mine: object, theirs: object) -> bool:
    """Tell whether two defaults are the same, down to their type and sign."""
    if theirs.__class__.__name__ == "device":
        return str(theirs) == mine
    if isinstance(theirs, (list, tuple)):
        return (
            isinstance(mine, tuple)
            and len(mine) == len(theirs)
            and all(same_value(a, b) for a, b in zip(mine, theirs))
        )
    return type(mine) is type(theirs) and repr(mine) == repr(theirs)
