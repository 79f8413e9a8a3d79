"""The GE converter module: one explicit torchair converter per operator overload.

Explicit converters are printed even where torchair could derive one: on the first GE compile of a process
torchair 2.13 takes a C++ operator without a converter for a host callback (custom_op_pre_scan.py runs before
the engine knows any IR), and its own rule matches attributes by position only.
"""

from __future__ import annotations

import keyword
from collections.abc import Iterable

from opkit.emit.converter_helpers import HELPERS
from opkit.emit.ge_binding import CONSTANT_DTYPES, Binding, bind, check, check_file
from opkit.emit.header import LINE_LENGTH, after_commas, quoted
from opkit.emit.ir_json import attribute_type, tensor_kind
from opkit.emit.meta_kernel import own_operators, qualify
from opkit.model.operator import EntryPoint, OpFile, OpSpec
from opkit.model.prototype import IrAttribute, IrTensor
from opkit.model.schema import (
    Argument,
    DefaultValue,
    ListType,
    OperatorName,
    OperatorSchema,
    OptionalType,
    Type,
    base_of,
)
from opkit.shape.constants import SCALAR_TYPES

__all__ = ["check", "check_file", "emit"]

# torchair 2.13's ge/attr.py.
_ATTRIBUTE_CLASSES = {
    "VT_INT": "Int",
    "VT_FLOAT": "Float",
    "VT_BOOL": "Bool",
    "VT_STRING": "Str",
    "VT_DATA_TYPE": "DataType",
    "VT_LIST_INT": "ListInt",
    "VT_LIST_FLOAT": "ListFloat",
    "VT_LIST_BOOL": "ListBool",
    "VT_LIST_STRING": "ListStr",
    "VT_LIST_DATA_TYPE": "ListDataType",
    "VT_LIST_LIST_INT": "ListListInt",
    "VT_LIST_LIST_FLOAT": "ListListFloat",
}

_PYTHON_TYPES = {
    "Tensor": "ge.Tensor",
    "int": "int",
    "SymInt": "int | ge.Tensor",
    "float": "float",
    "SymFloat": "float",
    "bool": "bool",
    "SymBool": "bool",
    "str": "str",
    "Scalar": "float",
    "ScalarType": "torch.dtype",
}

# Names the body of a converter uses; an argument of such a name is renamed, as one named like a keyword is.
_RESERVED = {"ge", "torch", "torchair", "attrs", "isinstance", "len", "float", "int"}


def emit(op_file: OpFile, namespace: str, header: str) -> str:
    """Print the converter module of a file. `namespace` serves operators that name none themselves.

    An operator that `check` finds an error in gets a comment instead of a converter.
    """
    specs = own_operators(op_file)
    body = "\n\n".join(_converter(spec, namespace) for spec in specs)
    used = [(text, needed) for call, (text, needed) in HELPERS.items() if call in body]
    standard = "".join(needed for _, needed in used)
    standard += "from collections.abc import Sequence\n" if "Sequence[" in body else ""
    own = {f"import {m}\n" for s in specs if (m := _converter_module(s)) is not None}
    imports = (
        f"{standard}{chr(10) if standard else ''}"
        "import torch\n"
        "import torch_npu  # noqa: F401 - makes `import torchair` find the one inside torch_npu\n"
        "import torchair\n"
        "from torchair import ge\n" + (chr(10) if own else "") + "".join(sorted(own))
    )
    summary = (
        '"""GE converters: importing this module registers them; the operators must be defined before."""\n'
    )
    # A header that is a docstring already says what the module is.
    opening = f"{header.rstrip()}\n" + ("" if header.startswith('"""') else summary)
    # One empty line between imports and a constant, two before a function.
    helpers = "".join(f"\n{text}" for text, _ in used)
    helpers = helpers[1:] if helpers.startswith("\n\n_GE_DTYPES") else helpers
    return f"{opening}\nfrom __future__ import annotations\n\n{imports}{helpers}\n\n{body}"


def _converter_module(spec: OpSpec) -> str | None:
    """Name the module of a hand-written converter, unless it is a file."""
    entry = spec.ge.converter if spec.ge else None
    return None if entry is None or entry.module.endswith(".py") else entry.module


def _converter(spec: OpSpec, namespace: str) -> str:
    """Print one converter with its registration."""
    name = spec.schema.name
    qualified = qualify(name, namespace)
    register = f"torchair.register_fx_node_ge_converter(torch.ops.{qualified.python})"
    if spec.ge is not None and spec.ge.converter is not None:
        return f"{register}({_hand_written(spec.ge.converter)})\n"
    binding, findings = bind(spec)
    if binding is None:
        reasons = "".join(f"#   {d.message}\n" for d in findings if d.severity.value == "error")
        return f"# {qualified.qualified} has no converter:\n{reasons}"
    names = _parameter_names(spec.schema)
    renamed = {a: p for a, p in names.items() if a != p}
    decorators = f"@{register}\n"
    if renamed:
        pairs = ", ".join(f'"{a}": "{p}"' for a, p in renamed.items())
        decorators += f"@_rename(**{{{pairs}}})\n"
    function = f"convert_{name.base}{'_' + name.overload if name.overload else ''}"
    docstring = _docstring(qualified.qualified, spec.schema.signature())
    return (
        decorators + _signature(function, spec.schema, names) + docstring + _body(binding, names, qualified)
    )


def _docstring(name: str, signature: str) -> str:
    """Print a docstring; schemas can be long, and their default strings may hold backslashes and quotes."""
    text = (name + signature).replace("\\", "\\\\").replace('"""', r"\"\"\"")
    line = f'    """{text}"""\n'
    if len(line) <= LINE_LENGTH + 1 and not text.endswith('"'):
        return line
    lines = "".join(f"    {piece.rstrip()}\n" for piece in after_commas(text, LINE_LENGTH - 4))
    return f'    """{name} as a node of Ascend IR.\n\n{lines}    """\n'


def _hand_written(entry: EntryPoint) -> str:
    """Print what gives the function of an entry point; `emit` prints the import."""
    if entry.module.endswith(".py"):
        return f"_load({_python_value(entry.module)}, {_python_value(entry.function)})"
    return f"{entry.module}.{entry.function}"


def _parameter_names(schema: OperatorSchema) -> dict[str, str]:
    """Give each argument a parameter name: its own wherever Python allows."""
    names: dict[str, str] = {}
    taken = {a.name for a in schema.arguments}
    for argument in schema.arguments:
        name = argument.name
        while keyword.iskeyword(name) or name in _RESERVED or (name != argument.name and name in taken):
            name += "_"
        taken.add(name)
        names[argument.name] = name
    return names


def _signature(function: str, schema: OperatorSchema, names: dict[str, str]) -> str:
    """Print `def` with the schema's names and defaults: FX drops arguments that equal their default."""
    parameters = []
    defaulted = False
    for argument in schema.positional:
        defaulted = defaulted or argument.default is not None
        parameters.append(_parameter(argument, names, needs_default=defaulted))
    parameters.append("*")
    parameters += [_parameter(argument, names) for argument in schema.keyword_only]
    # An operator that writes its arguments is converted without meta_outputs, every other one with it.
    parameters.append("meta_outputs=None")
    line = f"def {function}({', '.join(parameters)}):\n"
    if len(line) <= LINE_LENGTH:
        return line
    return f"def {function}(\n" + "".join(f"    {p},\n" for p in parameters) + "):\n"


def _parameter(argument: Argument, names: dict[str, str], needs_default: bool = False) -> str:
    annotation = _annotation(argument.type)
    if argument.default is not None:
        if isinstance(argument.default.value, tuple):
            annotation = annotation.replace("list[", "Sequence[", 1)
        return f"{names[argument.name]}: {annotation} = {_python_default(argument)}"
    text = f"{names[argument.name]}: {annotation}"
    # Schemas allow a required argument after one with a default, Python does not; callers always pass it.
    return f"{text} = None" if needs_default else text


def _annotation(type_: Type) -> str:
    if isinstance(type_, OptionalType):
        return f"{_annotation(type_.element)} | None"
    if isinstance(type_, ListType):
        element = f"list[{_annotation(type_.element)}]"
        # A list with a symbolic element arrives packed into one tensor.
        return f"{element} | ge.Tensor" if base_of(type_).name == "SymInt" else element
    return _PYTHON_TYPES.get(type_.name, "object")


def _python_default(argument: Argument) -> str:
    assert argument.default is not None
    value = argument.default.value
    if base_of(argument.type).name == "ScalarType" and isinstance(value, int):
        # A kernel is handed a dtype, however the schema writes its default.
        return f"torch.{SCALAR_TYPES[value]}" if value < len(SCALAR_TYPES) else str(value)
    return _python_value(value)


def _python_value(value: DefaultValue) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_python_value, value))}{',' if len(value) == 1 else ''})"
    return quoted(value) if isinstance(value, str) else repr(value)


def _body(binding: Binding, names: dict[str, str], qualified: OperatorName) -> str:
    """Print the function's body: guards, attributes, the node, the results."""
    lines = [f'_must_be_none({names[a.name]}, "{qualified.qualified}", "{a.name}")' for a in binding.dropped]
    always: list[tuple[str, str, str]] = []
    sometimes: list[tuple[str, str, str]] = []
    for attribute, argument in binding.attributes:
        value = _attribute_value(attribute, argument, names[argument.name], qualified)
        (sometimes if argument.is_optional else always).append((attribute.name, names[argument.name], value))
    given = [f'"{name}": {value}' for name, _, value in always]
    if sometimes:
        lines += _display("attrs = ", given, "{}")
        for name, parameter, value in sometimes:
            lines += [f"if {parameter} is not None:", f'    attrs["{name}"] = {value}']
    inputs = [f'"{t.name}": {_input_value(t, a, binding, names)}' for t, a in binding.inputs]
    outputs = [_output(t, index, binding) for t, index in binding.results]
    returned, target = _results(binding)
    if binding.spec.side_effect:
        if target == "return ":
            returned, target = ["return outputs"], "outputs = "
        returned = ["_keep_last_node()", *returned]
    lines.append(f"{target}ge.custom_op(")
    lines.append(f'    "{binding.prototype.op}",')
    lines += _display("    inputs=", inputs, "{}", end=",")
    lines += ["    attrs=attrs,"] if sometimes else _display("    attrs=", given, "{}", end=",")
    lines += _display("    outputs=", outputs, "[]", end=",")
    lines.append(")")
    lines += returned
    return "".join(f"    {line}\n" for line in lines)


def _display(prefix: str, items: list[str], brackets: str, end: str = "") -> list[str]:
    """Print a dict or list display on one line if it fits, else an item a line."""
    line = f"{prefix}{brackets[0]}{', '.join(items)}{brackets[1]}{end}"
    if len(line) <= LINE_LENGTH - 4 or not items:
        return [line]
    indent = " " * (len(prefix) - len(prefix.lstrip()))
    return [f"{prefix}{brackets[0]}", *(f"{indent}    {i}," for i in items), f"{indent}{brackets[1]}{end}"]


def _attribute_value(
    attribute: IrAttribute, argument: Argument, parameter: str, qualified: OperatorName
) -> str:
    """Print the ge.attr object of an argument, without the None case."""
    base = base_of(argument.type).name
    value = parameter
    if base.startswith("Sym"):
        value = f'_static({parameter}, "{qualified.qualified}", "{argument.name}")'
    elif base == "ScalarType":
        value = (
            f"[_ge_dtype(d) for d in {parameter}]" if "LIST" in attribute.type else f"_ge_dtype({parameter})"
        )
    elif base == "Scalar":
        number = "int" if attribute.type.endswith("INT") else "float"
        value = (
            f"[{number}(v) for v in {parameter}]" if "LIST" in attribute.type else f"{number}({parameter})"
        )
    return f"ge.attr.{_ATTRIBUTE_CLASSES[attribute.type]}({value})"


def _input_value(tensor: IrTensor, argument: Argument | None, binding: Binding, names: dict[str, str]) -> str:
    """Print what feeds an input. An absent optional input still takes its place, as None."""
    if argument is None:
        return "[]" if tensor.kind == "dynamic" else "None"
    name = names[argument.name]
    kind = tensor_kind(argument.type)
    if kind is None:
        dtype = CONSTANT_DTYPES[attribute_type(argument.type) or ""]
        value = f"_as_tensor({name}, ge.DataType.{dtype})"
        return f"None if {name} is None else {value}" if argument.is_optional else value
    if kind == "dynamic":
        return f"{name} or []" if argument.is_optional else name
    if tensor.name in binding.cloned:
        # GE writes this input, the operator must not: let it write a copy.
        return (
            f"None if {name} is None else ge.Clone({name})" if argument.is_optional else f"ge.Clone({name})"
        )
    return name


def _output(tensor: IrTensor, index: int | None, binding: Binding) -> str:
    if tensor.kind != "dynamic":
        return f'"{tensor.name}"'
    fresh = len(binding.spec.schema.returns)
    count = "len(meta_outputs)" if fresh == 1 else f"len(meta_outputs[{index}])"
    return f'("{tensor.name}", {count})'


def _results(binding: Binding) -> tuple[list[str], str]:
    """Print what is returned, and what the node is assigned to.

    An argument written in place is not returned: torchair reads it off the node's output of the input's name.
    """
    indices = [index for _, index in binding.results]
    count = sum(index is not None for index in indices)
    if count == 0:
        return ([], "")
    if None not in indices and indices == sorted(i for i in indices if i is not None):
        return ([], "return ")
    order = sorted((index, place) for place, index in enumerate(indices) if index is not None)
    picked = ", ".join(f"outputs[{place}]" for _, place in order)
    return ([f"return {picked}"], "outputs = ")


def converters(op_file: OpFile) -> Iterable[OpSpec]:
    """Give the operators that get a converter."""
    return (s for s in own_operators(op_file) if (s.ge and s.ge.converter) or bind(s)[0] is not None)
