"""The parts of a scaffold that depend on the schema: rule, case, reference function."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import yaml

from opkit.model.schema import (
    Argument,
    BaseType,
    ListType,
    OperatorSchema,
    OptionalType,
    Type,
    base_of,
    is_tensor_like,
)

# Names of tensors that hold positions, counts or keys.
_INDEX = re.compile(r"(.*_)?(ind(ex|ices)|idx|ids?|slots?|mapping|offsets?|positions?|len(s|gths?)?|tables?)")
# Two dims with three sizes each, so that a size written as a number does not go unnoticed.
_SIZES = ("[4, 3, 7]", "[8, 5, 6]")


def op_plugin_takes(schema: OperatorSchema) -> bool:
    """Tell whether op-plugin reads such a schema (see OPK121).

    It wants a size for every list of bools, and wants what is called `name_` to return its `self`, which no
    operator that enters a graph does.
    """
    types = [a.type.element if isinstance(a.type, OptionalType) else a.type for a in schema.arguments]
    return ListType(BaseType("bool")) not in types and not schema.name.base.endswith("_")


def case_value(argument: Argument, number: int = 0) -> object:
    """Give a test value; None if there is none to invent.

    Arguments of different `number` get different values, so that two swapped attributes do not go unnoticed;
    no value is the argument's default.
    """
    default = None if argument.default is None else argument.default.value
    return next((v for i in (number, number + 1) if (v := _value(argument.type, i)) != default), None)


def _value(type_: Type, number: int) -> object:
    if isinstance(type_, OptionalType):
        return _value(type_.element, number)
    if isinstance(type_, ListType):
        items = tuple(_value(type_.element, number + i) for i in range(type_.size or 2))
        return None if None in items else items
    values: dict[str, object] = {
        "Tensor": "f32",
        "int": 5 + number,
        "SymInt": 5 + number,
        "float": 2.5 + number,
        "Scalar": 1.5 + number,
        "bool": number % 2 == 0,
        "str": chr(ord("a") + number % 26),
    }
    return values.get(type_.name)


def cases(schema: OperatorSchema) -> list[str]:
    """Write the cases: every argument given and none its default, then only those that must be."""
    optional = [a for a in schema.arguments if a.is_optional or a.default is not None]
    full = _case(schema, schema.arguments)
    return [full, _case(schema, [a for a in schema.arguments if a not in optional])] if optional else [full]


def _case(schema: OperatorSchema, given: Sequence[Argument]) -> str:
    taken = {a.name for a in schema.arguments}
    # As many names as the arguments could take, and those that are needed.
    names = ("B", "N", *(f"D{i}" for i in range(len(taken) + len(_SIZES))))
    dims = [name for name in names if name not in taken][: len(_SIZES)]
    pairs = []
    for number, argument in enumerate(schema.arguments):
        value = case_value(argument, number)
        if argument in given and value is not None:
            text = json.dumps(value)
            if is_tensor_like(argument.type):
                dtype = "i64" if _is_index(schema, argument) else "f32"
                text = text.replace("f32", f"{dtype}[{', '.join(dims)}]")
            pairs.append(f"{argument.name}: {text}")
        elif argument not in given and argument.default is None:
            pairs.append(f"{argument.name}: null")
    pairs += [f"{dim}: {sizes}" for dim, sizes in zip(dims, _SIZES)]
    return f"{{{', '.join(pairs)}}}"


def _is_index(schema: OperatorSchema, argument: Argument) -> bool:
    """Tell whether a tensor holds indices, going by its name; the one the results are like never does."""
    return argument is not _like(schema) and _INDEX.fullmatch(argument.name) is not None


def _like(schema: OperatorSchema) -> Argument:
    """The tensor whose shape and dtype the results get: the first that holds values."""
    tensors = [a for a in schema.arguments if a.is_tensor]
    return next((a for a in tensors if not _INDEX.fullmatch(a.name)), tensors[0])


def yaml_scalar(text: str) -> str:
    """Write text as a one-line YAML scalar, quoted where YAML needs it."""
    line = yaml.safe_dump(text, width=2**31, allow_unicode=True).strip()
    return line[:-4].strip() if line.endswith("\n...") else line


def outputs(schema: OperatorSchema) -> list[str]:
    """Write the rule lines: every result like the first tensor of values, for the user to correct."""
    like = _like(schema).name
    taken = {a.name for a in schema.arguments}
    stem = next(s for s in ("out", "result", "output") if s not in taken)
    names = [r.name or f"{stem}{i}" for i, r in enumerate(schema.returns)]
    names = [stem] if len(names) == 1 else names
    return [f"{name}: {{size: {like}, dtype: {like}}}" for name in names]


def reference(schema: OperatorSchema) -> str:
    """Write a function that runs and lets each tensor, number and text count with a weight of its own."""
    base = _like(schema)
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


# How a value enters the placeholder; dtypes and devices do not.
_TERMS = {
    "str": "sum({0}.encode())",
    **dict.fromkeys(("Tensor", "int", "SymInt", "float", "Scalar", "bool"), "{0}"),
}


def _add(argument: Argument, weight: int) -> list[str]:
    """Write how an argument enters the placeholder."""
    name = argument.name
    type_ = argument.type.element if isinstance(argument.type, OptionalType) else argument.type
    term = _TERMS.get(base_of(type_).name)
    if term is None:
        return []
    if isinstance(type_, BaseType):
        return [f"result = result + {weight} * {term.format(name)}"]
    return [f"for item in {name}:", f"    result = result + {weight} * {term.format('item')}"]


def _parameters(schema: OperatorSchema) -> str:
    parameters = [a.name for a in schema.positional]
    if schema.keyword_only:
        parameters += ["*", *(a.name for a in schema.keyword_only)]
    return ", ".join(parameters)
