"""The parts of a scaffold that depend on the schema: rule, case, reference function."""

from __future__ import annotations

from collections.abc import Iterable

import yaml

from opkit.model.schema import Argument, BaseType, ListType, OperatorSchema, OptionalType, Type, base_of

# Distinct values, so that two swapped attributes do not go unnoticed.
_VALUES = {"int": "5", "SymInt": "6", "float": "2.5", "Scalar": "1.5", "bool": "true", "str": '"a"'}


def case_value(argument: Argument) -> str | None:
    """Give a test value as YAML flow text; None if there is none to invent."""
    return _value(argument.type)


def _value(type_: Type) -> str | None:
    if isinstance(type_, OptionalType):
        return _value(type_.element)
    if isinstance(type_, ListType):
        element = _value(type_.element)
        return None if element is None else f"[{', '.join([element] * (type_.size or 2))}]"
    return '"f32[{dim}, 8]"' if type_.name == "Tensor" else _VALUES.get(type_.name)


def cases(schema: OperatorSchema) -> list[str]:
    """Write the cases: every optional argument given, then every one left out."""
    taken = {a.name for a in schema.arguments}
    dim = next(d for d in ("B", "N", "M", "ROWS", "DIM") if d not in taken)
    optional = [a for a in schema.arguments if a.is_optional]
    full = _case(schema.arguments, dim)
    return (
        [full, _case([a for a in schema.arguments if not a.is_optional], dim, optional)]
        if optional
        else [full]
    )


def _case(given: Iterable[Argument], dim: str, absent: Iterable[Argument] = ()) -> str:
    pairs = []
    for argument in given:
        if argument.default is not None and not isinstance(argument.type, OptionalType):
            # What the schema gives by itself needs no invented value that the kernel may not take.
            continue
        value = case_value(argument)
        if value is not None:
            pairs.append(f"{argument.name}: {value.replace('{dim}', dim)}")
    pairs += [f"{argument.name}: null" for argument in absent if argument.default is None]
    return f"{{{', '.join(pairs)}, {dim}: [4, 3, 7]}}"


def yaml_scalar(text: str) -> str:
    """Write text as a one-line YAML scalar, quoted where YAML needs it."""
    line = yaml.safe_dump(text, width=2**31, allow_unicode=True).strip()
    return line[:-4].strip() if line.endswith("\n...") else line


def outputs(schema: OperatorSchema) -> list[str]:
    """Write the rule lines: every result like the first Tensor argument, for the user to correct."""
    like = next(a.name for a in schema.arguments if a.is_tensor)
    taken = {a.name for a in schema.arguments}
    stem = next(s for s in ("out", "result", "output") if s not in taken)
    count = len(schema.returns)
    names = [stem] if count == 1 else [r.name or f"{stem}{i}" for i, r in enumerate(schema.returns)]
    return [f"{name}: {{size: {like}, dtype: {like}}}" for name in names]


def reference(schema: OperatorSchema) -> str:
    """Write a function that runs and lets every argument count, each with a weight of its own."""
    base = next(a for a in schema.arguments if a.is_tensor)
    body = [f"result = {base.name}.clone()"]
    weight = 1
    for argument in schema.arguments:
        if argument is base:
            continue
        weight += 1
        lines = _add(argument, weight)
        if lines and argument.is_optional:
            body += [f"if {argument.name} is not None:", *(f"    {line}" for line in lines)]
        else:
            body += lines
    for index, argument in enumerate(schema.mutated):
        scale = f"{index + 1} * " if index else ""
        write = f"{argument.name}.copy_({scale}result)"
        body += [f"if {argument.name} is not None:", f"    {write}"] if argument.is_optional else [write]
    # A written argument and a result must differ, or a graph that confuses the two would pass.
    offset = len(schema.mutated) + 1
    results = [
        f"{index + offset} * result" if index + offset > 1 else "result"
        for index in range(len(schema.returns))
    ]
    if results:
        body.append(f"return {', '.join(results)}")
    return f"def {schema.name.base}({_parameters(schema)}):\n" + "".join(f"    {line}\n" for line in body)


def _add(argument: Argument, weight: int) -> list[str]:
    """Write how an argument enters the placeholder; text and dtypes do not."""
    name = argument.name
    type_ = argument.type.element if isinstance(argument.type, OptionalType) else argument.type
    base = base_of(type_).name
    if base not in {"Tensor", *_VALUES} or base == "str":
        return []
    if isinstance(type_, BaseType):
        return [f"result = result + {weight} * {name}"]
    return [f"for item in {name}:", f"    result = result + {weight} * item"]


def _parameters(schema: OperatorSchema) -> str:
    parameters = [a.name for a in schema.positional]
    if schema.keyword_only:
        parameters += ["*", *(a.name for a in schema.keyword_only)]
    return ", ".join(parameters)
