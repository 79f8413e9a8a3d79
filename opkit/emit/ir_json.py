"""Ascend IR prototypes: derived from a schema or taken from an msOpGen json, and printed as one."""

from __future__ import annotations

import json

from opkit.errors import OpkitError
from opkit.model.diagnostic import Diagnostic, Severity
from opkit.model.expression import Name
from opkit.model.operator import CaseValue, OpSpec, OutputRule, TensorSpec
from opkit.model.prototype import IrAttribute, IrPrototype, IrTensor
from opkit.model.schema import Argument, ListType, OptionalType, Return, Type, base_of

# GE's value types by schema type, `?` and list sizes stripped. ScalarType is an int (GE's own enum) because
# an Ascend C operator definition has no data-type attribute; a prototype json may still say VT_DATA_TYPE.
ATTRIBUTE_TYPES = {
    "int": "VT_INT",
    "SymInt": "VT_INT",
    "float": "VT_FLOAT",
    "SymFloat": "VT_FLOAT",
    "bool": "VT_BOOL",
    "SymBool": "VT_BOOL",
    "str": "VT_STRING",
    "Scalar": "VT_FLOAT",
    "ScalarType": "VT_INT",
    "int[]": "VT_LIST_INT",
    "SymInt[]": "VT_LIST_INT",
    "float[]": "VT_LIST_FLOAT",
    "Scalar[]": "VT_LIST_FLOAT",
    "bool[]": "VT_LIST_BOOL",
    "str[]": "VT_LIST_STRING",
    "ScalarType[]": "VT_LIST_INT",
    "int[][]": "VT_LIST_LIST_INT",
    "float[][]": "VT_LIST_LIST_FLOAT",
}

# msOpGen's names. Not every one exists in every CANN; msOpGen says so itself.
_JSON_TYPES = {
    "VT_INT": "int",
    "VT_FLOAT": "float",
    "VT_BOOL": "bool",
    "VT_STRING": "string",
    "VT_DATA_TYPE": "type",
    "VT_TENSOR": "tensor",
    "VT_LIST_INT": "list_int",
    "VT_LIST_FLOAT": "list_float",
    "VT_LIST_BOOL": "list_bool",
    "VT_LIST_STRING": "list_string",
    "VT_LIST_DATA_TYPE": "list_type",
    "VT_LIST_LIST_INT": "list_list_int",
    "VT_LIST_LIST_FLOAT": "list_list_float",
}

_JSON_DTYPES = {
    "float16": "fp16",
    "bfloat16": "bf16",
    "float32": "float",
    "float64": "double",
    "complex64": "complex64",
    "complex128": "complex128",
    "bool": "bool",
    "int8": "int8",
    "int16": "int16",
    "int32": "int32",
    "int64": "int64",
    "uint8": "uint8",
    "uint16": "uint16",
    "uint32": "uint32",
    "uint64": "uint64",
}

# What a derived prototype offers when no case names a dtype: msOpGen wants one, the user edits the rest.
_ANY_DTYPES = ("fp16", "bf16", "float")


def ir_name(base: str) -> str:
    """Derive the Ascend IR type from an operator's base name.

    torchair 2.13's rule (`_get_converter_context` in fx2ge_converter.py): a trailing `_functional` goes,
    every word between underscores is capitalized (which lowers the rest of it), namespace and overload do not
    count.
    """
    words = base.split("_")
    if words[-1] == "functional":
        words = words[:-1]
    return "".join(word.capitalize() for word in words)


def attribute_type(type_: Type) -> str | None:
    """Give GE's value type for a host argument of this schema type, None where there is none."""
    return ATTRIBUTE_TYPES.get(_plain(type_))


def _plain(type_: Type) -> str:
    """Print a type without `?` and without list sizes."""
    if isinstance(type_, OptionalType):
        return _plain(type_.element)
    if isinstance(type_, ListType):
        return f"{_plain(type_.element)}[]"
    return type_.name


def tensor_kind(type_: Type) -> str | None:
    """Give the IR kind of a tensor type, "required", "optional" or "dynamic"; None for other types."""
    if base_of(type_).name != "Tensor":
        return None
    while isinstance(type_, OptionalType):
        if not isinstance(type_.element, ListType):
            return "optional"
        type_ = type_.element
    return "dynamic" if isinstance(type_, ListType) else "required"


def find_prototype(spec: OpSpec) -> tuple[IrPrototype | None, tuple[Diagnostic, ...]]:
    """Take the prototype from the msOpGen json the operator names, else derive it; None if the json fails."""
    if spec.ge is None or spec.ge.prototype is None:
        return derive(spec), ()
    found = spec.ge.prototypes
    wanted = spec.ge.ir or ir_name(spec.schema.name.base)
    match = next((p for p in found if p.op == wanted), None)
    if match is None and spec.ge.ir is None and len(found) == 1:
        match = found[0]
    if match is not None:
        return match, ()
    names = ", ".join(p.op for p in found) or "no operator"
    missing = Diagnostic(
        "OPK307",
        Severity.ERROR,
        f"{spec.ge.prototype} holds {names}, not {wanted}",
        spec.ge.mark,
        help="name one of them in `ge: {ir: ...}`, or point `prototype` at the right file",
        operator=spec.name,
    )
    return None, (missing,)


def prototype(spec: OpSpec) -> IrPrototype:
    """Give the operator's prototype.

    Raises OpkitError when the json it names does not hold it.
    """
    found, diagnostics = find_prototype(spec)
    if found is None:
        raise OpkitError(f"{spec.name}: {diagnostics[-1].message}", diagnostics[-1].help)
    return found


def derive(spec: OpSpec) -> IrPrototype:
    """Derive the prototype from the schema.

    Arguments that GE has no type for are left out; `opkit.emit.ge_binding.check` reports them.
    """
    schema = spec.schema
    combinations = _dtype_combinations(spec)
    inputs = tuple(
        IrTensor(a.name, kind, combinations.get(a.name, ()))
        for a in schema.arguments
        if (kind := tensor_kind(a.type)) is not None
    )
    written = tuple(IrTensor(a.name, _written_kind(a), combinations.get(a.name, ())) for a in schema.mutated)
    fresh = [r for r in schema.returns if r.alias is None]
    kinds = [tensor_kind(r.type) or "required" for r in fresh]
    fresh_dtypes = _result_dtypes(spec, len(fresh), combinations)
    outputs = tuple(map(IrTensor, _output_names(spec, fresh), kinds, fresh_dtypes))
    attributes = tuple(
        _attribute(a, type_) for a in schema.arguments if (type_ := attribute_type(a.type)) is not None
    )
    name = (spec.ge.ir if spec.ge else None) or ir_name(schema.name.base)
    return IrPrototype(name, inputs, (*written, *outputs), attributes)


def _written_kind(argument: Argument) -> str:
    return "dynamic" if tensor_kind(argument.type) == "dynamic" else "required"


def _attribute(argument: Argument, type_: str) -> IrAttribute:
    default = None if argument.default is None else argument.default.value
    required = argument.default is None and not argument.is_optional
    return IrAttribute(argument.name, type_, required, default)


def _output_names(spec: OpSpec, fresh: list[Return]) -> list[str]:
    """Name the fresh outputs: the schema's names, then those of the rule that is used, then y, z or out.

    A name must not equal an argument's: GE takes an output with an input's name for the same memory.
    """
    results = [rule.name for rule in _fresh_rules(spec, len(fresh))]
    taken = {a.name for a in spec.schema.arguments}
    stem = next((s for s in ("y", "z", "out") if s not in taken), "y")
    names = []
    for index, result in enumerate(fresh):
        name = result.name or (results[index] if results else stem if len(fresh) == 1 else f"{stem}{index}")
        while name in taken:
            name += "_out"
        taken.add(name)
        names.append(name)
    return names


def _fresh_rules(spec: OpSpec, count: int) -> tuple[OutputRule, ...]:
    """Give the rules of the fresh results, `meta` before `gen_opapi`; none if their number is another."""
    rules = (spec.meta.outputs if spec.meta else ()) or (spec.gen_opapi.outputs if spec.gen_opapi else ())
    returns = spec.schema.returns
    if len(rules) == len(returns):
        # A rule may describe the results that are arguments as well.
        rules = tuple(rule for rule, result in zip(rules, returns) if result.alias is None)
    return rules if len(rules) == count else ()


def _dtype_of(value: CaseValue) -> str | None:
    """Find the dtype of a case's tensor, or of the first tensor of its list."""
    if isinstance(value, TensorSpec):
        return value.dtype
    if isinstance(value, tuple):
        return next((dtype for item in value if (dtype := _dtype_of(item)) is not None), None)
    return None


def _dtype_combinations(spec: OpSpec) -> dict[str, tuple[str, ...]]:
    """Read the supported dtype combinations off the cases: argument -> one msOpGen dtype per combination."""
    if not spec.cases:
        return {}
    names = [a.name for a in spec.schema.arguments if tensor_kind(a.type) is not None]
    rows: list[list[str]] = []
    for case in spec.cases:
        dtypes = {name: _dtype_of(value) for name, value in case.inputs}
        present = [d for d in dtypes.values() if d in _JSON_DTYPES]
        if not present:
            continue
        # An absent optional tensor has no dtype; the prototype still needs one per combination.
        row = [_JSON_DTYPES.get(dtypes.get(name) or "", _JSON_DTYPES[present[0]]) for name in names]
        if row not in rows:
            rows.append(row)
    return {name: tuple(row[i] for row in rows) for i, name in enumerate(names)} if rows else {}


def _result_dtypes(
    spec: OpSpec, count: int, combinations: dict[str, tuple[str, ...]]
) -> list[tuple[str, ...]]:
    """Take a fresh output's dtypes from the argument its rule names, else from the first tensor argument."""
    rules = _fresh_rules(spec, count)
    first = next(iter(combinations.values()), ())
    if not rules:
        return [first] * count
    return [combinations.get(r.dtype.name, first) if isinstance(r.dtype, Name) else first for r in rules]


def ir_definition(prototype: IrPrototype) -> dict[str, object]:
    """Give the prototype as GE answers for a registered IR: names with kinds and value types."""
    return {
        "op": prototype.op,
        "inputs": [[tensor.name, tensor.kind] for tensor in prototype.inputs],
        "outputs": [[tensor.name, tensor.kind] for tensor in prototype.outputs],
        "attrs": [[attribute.name, attribute.type] for attribute in prototype.attributes],
    }


def emit(spec: OpSpec) -> str:
    """Print the operator's prototype as the json msOpGen takes. Raises OpkitError as `prototype` does."""
    return print_json(prototype(spec))


def print_json(prototype: IrPrototype) -> str:
    """Print a prototype as an msOpGen json of one operator."""
    count = max((len(t.dtypes) for t in (*prototype.inputs, *prototype.outputs)), default=0)

    def tensor(value: IrTensor) -> dict[str, object]:
        # Every input and output lists one dtype per combination, so all lists are of one length.
        types = list(value.dtypes) or list(_ANY_DTYPES if count == 0 else _ANY_DTYPES[:1] * count)
        return {"name": value.name, "param_type": value.kind, "format": ["ND"] * len(types), "type": types}

    def attribute(value: IrAttribute) -> dict[str, object]:
        entry: dict[str, object] = {
            "name": value.name,
            "param_type": "required" if value.required else "optional",
            "type": _JSON_TYPES[value.type],
        }
        if value.default is not None:
            entry["default_value"] = value.default
        return entry

    operator = {
        "op": prototype.op,
        "language": "cpp",
        "input_desc": [tensor(t) for t in prototype.inputs],
        "output_desc": [tensor(t) for t in prototype.outputs],
        "attr": [attribute(a) for a in prototype.attributes],
    }
    return json.dumps([operator], indent=2, ensure_ascii=False) + "\n"
