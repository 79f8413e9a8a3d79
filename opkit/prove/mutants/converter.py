"""Mutants of a generated converter: the node it builds, what feeds it, and what it returns."""

from __future__ import annotations

import ast

from opkit.prove.mutants.converter_edits import (
    Edit,
    Parts,
    add_output,
    drop_attribute,
    drop_output,
    each_attribute,
    each_input,
    each_output,
    exchange_outputs,
    first_value,
    list_of,
    node_twice,
    other_index,
    places_of,
    rename_input,
    rename_output,
    returning,
    swap_attributes,
    swap_inputs,
)
from opkit.prove.mutants.kind import CONVERTER, Break, Kind


def _other_type(parts: Parts) -> bool:
    assert isinstance(parts.node.args[0], ast.Constant)
    parts.node.args[0] = ast.Constant(str(parts.node.args[0].value) + "Other")
    return True


def _unregistered(parts: Parts) -> bool:
    parts.function.decorator_list = []
    return True


def _raising(parts: Parts) -> bool:
    parts.function.body = [*ast.parse('raise NotImplementedError("no converter yet")').body]
    return True


def _rename_parameter(parts: Parts) -> list[tuple[str, Edit]]:
    def edit(name: str) -> Edit:
        def apply(parts: Parts) -> bool:
            for n in ast.walk(parts.function):
                if isinstance(n, ast.arg) and n.arg == name:
                    n.arg = f"{name}_other"
                elif isinstance(n, ast.Name) and n.id == name:
                    n.id = f"{name}_other"
            return True

        return apply

    # An operator that writes gets every argument by name; others get theirs by position.
    names = [a.arg for a in parts.function.args.kwonlyargs if a.arg != "meta_outputs"]
    if any(ast.unparse(e) in [ast.unparse(k) for k in parts.inputs.keys if k] for e in parts.outputs.elts):
        names += [a.arg for a in parts.function.args.args]
    return [(name, edit(name)) for name in names]


def _drop_parameter_default(parts: Parts) -> bool:
    arguments = parts.function.args
    if arguments.defaults:
        arguments.defaults.pop(0)
        return True
    for index, (argument, value) in enumerate(zip(arguments.kwonlyargs, arguments.kw_defaults)):
        if value is not None and argument.arg != "meta_outputs":
            arguments.kw_defaults[index] = None
            return True
    return False


def _parameter_default(parts: Parts) -> list[tuple[str, Edit]]:
    """Change each number, flag or text that a parameter defaults to."""

    def edit(index: int) -> Edit:
        def apply(parts: Parts) -> bool:
            constant = _defaults(parts)[index][1]
            value = constant.value
            assert isinstance(value, (bool, int, float, str))
            constant.value = (
                not value if isinstance(value, bool) else value + "_" if isinstance(value, str) else value + 1
            )
            return True

        return apply

    return [(name, edit(i)) for i, (name, _) in enumerate(_defaults(parts))]


def _defaults(parts: Parts) -> list[tuple[str, ast.Constant]]:
    arguments = parts.function.args
    pairs = [*zip(arguments.args[len(arguments.args) - len(arguments.defaults) :], arguments.defaults)]
    pairs += [(a, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults) if d is not None]
    return [
        (argument.arg, value)
        for argument, value in pairs
        if isinstance(value, ast.Constant) and isinstance(value.value, (bool, int, float, str))
    ]


def _whole(edit: Edit, nothing: str = "") -> Break:
    return places_of(lambda parts: [("converter", edit)], nothing)


def _changed(class_: str, value: str) -> str:
    changes = {
        "Int": f"({value}) + 1",
        "Float": f"({value}) * 2 + 1",
        "Bool": f"not ({value})",
        "Str": f'({value}) + "_"',
    }
    if class_.startswith("List"):
        return f"ge.attr.{class_}(list({value})[::-1] + list({value})[:1])"
    return f"ge.attr.{class_}({changes.get(class_, value)})"


_OTHER_CLASSES = {
    "Int": "Float",
    "Float": "Int",
    "Bool": "Int",
    "ListInt": "ListFloat",
    "ListFloat": "ListInt",
}


def _other_class(class_: str, value: str) -> str:
    other = _OTHER_CLASSES.get(class_, class_)
    convert = {"Int": f"int({value})", "Float": f"float({value})", "ListInt": f"[int(v) for v in {value}]"}
    return f"ge.attr.{other}({convert.get(other, value) if other != class_ else value})"


def _cast(value: ast.expr) -> str:
    text = ast.unparse(value)
    if isinstance(value, ast.Name):
        cast = "ge.Cast(t, dst_type=ge.DataType.DT_INT32)"
        single = f"(lambda t: {cast} if isinstance(t, ge.Tensor) else t)"
        return f"[{single}(t) for t in {text}] if isinstance({text}, (list, tuple)) else {single}({text})"
    return text


def _kind(name: str, breaks: str, matters: str, apply: Break) -> Kind:
    return Kind(f"converter-{name}", CONVERTER, breaks, matters, apply)


_LOST = "GE computes with the wrong tensor, and nothing fails."
_NO_RESULT = "its converter returns no node"
KINDS = (
    _kind("missing", "No converter is registered.",
          "torchair makes one by position, or calls the eager kernel from the host.", _whole(_unregistered)),
    _kind("raises", "The converter raises.", "The model does not compile.", _whole(_raising)),
    _kind("other-type", "The node has another Ascend IR type.",
          "GE runs another operator, or finds none.", _whole(_other_type)),
    _kind("node-twice", "The node is built twice.",
          "The operator runs twice; one that writes its argument writes it twice.", _whole(node_twice)),
    _kind("inputs-swapped", "Two inputs of the node are exchanged.", _LOST, swap_inputs(1)),
    _kind("input-repeated", "An input is fed by what feeds the one before it.", _LOST, swap_inputs(0)),
    _kind("input-none", "An input of the node is fed by nothing.",
          "GE takes an optional input as not given.", each_input(lambda v: "None")),
    _kind("input-dropped", "An input is left out of the node.",
          "The inputs after it move up: GE reads them by position.", each_input(lambda v: None)),
    _kind("input-renamed", "An input of the node has another name.",
          "GE does not know it.", places_of(rename_input, "its node has no inputs")),
    _kind("input-cast", "An input passes through a cast to int32.",
          "Fractions are lost on the way in.", each_input(_cast, "no input is a plain argument")),
    _kind("list-reversed", "The tensors of a list are in the opposite order.", _LOST,
          list_of("list(LIST)[::-1]")),
    _kind("list-truncated", "The last tensor of a list is left out.", _LOST, list_of("list(LIST)[:-1]")),
    _kind("attribute-dropped", "An attribute is not set.",
          "GE takes the default of the prototype.", places_of(drop_attribute, "its node has no attributes")),
    _kind("attribute-renamed", "An attribute has another name.",
          "GE ignores it and takes the default.", each_attribute(lambda c, v: None)),
    _kind("attribute-changed", "An attribute has another value than the argument.",
          "GE computes something else.", each_attribute(_changed)),
    _kind("attribute-class", "An attribute is set as another kind of number.",
          "GE reads another field of the attribute, which is empty.", each_attribute(_other_class)),
    _kind("attributes-swapped", "Two attributes of one kind are exchanged.",
          "GE computes something else, and nothing fails.",
          places_of(swap_attributes, "no two attributes are of one kind")),
    _kind("attribute-constant", "An attribute always has the value that the first case gives.",
          "The tested value works and no other does.", first_value),
    _kind("output-renamed", "An output of the node has another name.",
          "GE does not know it; a written argument is no longer written in place.",
          each_output(rename_output, "its node has no outputs")),
    _kind("output-dropped", "An output of the node is missing.",
          "The outputs after it move up: results are read from the wrong place.",
          each_output(drop_output, "its node has no outputs")),
    _kind("output-added", "The node has one more output.",
          "The outputs after it move down: results are read from the wrong place.",
          each_output(add_output, "its node has no outputs")),
    _kind("outputs-swapped", "Two outputs of the node are exchanged.",
          "Results are read from the wrong place.",
          each_output(exchange_outputs, "its node has fewer than two outputs", 2)),
    _kind("other-output", "The converter returns another output of the node.",
          "The model goes on with the wrong result.",
          places_of(other_index, "its converter picks no output")),
    _kind("returns-input", "The converter returns its first argument.",
          "The node is pruned and the input is taken for the result.", returning("FIRST", _NO_RESULT)),
    _kind("returns-nothing", "The converter returns nothing.",
          "torchair has no node for the result.", returning("None", _NO_RESULT)),
    _kind("returns-two", "The converter returns one result too many.",
          "torchair takes the wrong one, or refuses.", returning("(RESULT, RESULT)", _NO_RESULT)),
    _kind("result-changed", "The result passes through one more operator.",
          "The model goes on with other numbers.",
          returning("(lambda neg, r: neg(r) if isinstance(r, ge.Tensor) else [neg(r[0]), *r[1:]])("
                    "torchair._ge_concrete_graph.ge_apis.Neg, RESULT)",
                    _NO_RESULT)),
    _kind("result-cast", "The result passes through a cast to int32 and back.",
          "Fractions are lost on the way out.",
          returning("(lambda cast, r: cast(r) if isinstance(r, ge.Tensor) else [cast(r[0]), *r[1:]])("
                    "lambda t: ge.Cast(ge.Cast(t, dst_type=ge.DataType.DT_INT32), dst_type=t.dtype), RESULT)",
                    _NO_RESULT)),
    _kind("parameter-renamed", "A parameter that is passed by name has another name.",
          "The conversion fails when the argument is given.",
          places_of(_rename_parameter, "no argument is passed by name")),
    _kind("default-missing", "A parameter has no default although the schema has one.",
          "FX drops arguments that equal their default: the conversion fails.",
          _whole(_drop_parameter_default, "no argument has a default")),
    _kind("default-changed", "A parameter has another default than the schema.",
          "FX drops arguments that equal their default: GE computes with another value.",
          places_of(_parameter_default, "no argument has a number, flag or text as its default")),
)  # fmt: skip
