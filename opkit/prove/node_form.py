"""Compares how an Ascend IR node is written with its prototype: names, their order, kinds of attributes.

Kernels take inputs and outputs by position, whatever their names: `ge.custom_op` writes them in the order in
which the converter lists them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from opkit.cann.ge_graph import GeNode
from opkit.model.prototype import IrPrototype, IrTensor

# How torchair 2.13's ge/attr.py serializes each value type of an attribute.
_KINDS = {
    "VT_INT": "i",
    "VT_FLOAT": "f",
    "VT_BOOL": "b",
    "VT_STRING": "s",
    "VT_DATA_TYPE": "dt",
    "VT_LIST_INT": "list.i",
    "VT_LIST_FLOAT": "list.f",
    "VT_LIST_BOOL": "list.b",
    "VT_LIST_STRING": "list.s",
    "VT_LIST_DATA_TYPE": "list.dt",
    "VT_LIST_LIST_INT": "list_list_int",
    "VT_LIST_LIST_FLOAT": "list_list_float",
}


def inputs(node: GeNode, expected: Iterable[str]) -> Iterator[str]:
    """Check that the inputs stand in the prototype's order; `expected` has them with list items counted."""
    found = [item.name for item in node.inputs]
    wanted = [name for name in expected if name in found]
    yield from _order("inputs", node, [name for name in found if name in wanted], wanted)


def outputs(node: GeNode, prototype: IrPrototype) -> Iterator[str]:
    """Check that the outputs are the prototype's, in its order."""
    places = {output.name: _place(output.name, prototype.outputs) for output in node.outputs}
    unknown = [name for name, place in places.items() if place is None]
    if unknown:
        yield f"{node.type} has an output `{unknown[0]}` that the prototype does not have"
    for tensor in prototype.outputs:
        if tensor.kind == "required" and tensor.name not in places:
            yield f"{node.type} has no output `{tensor.name}`, which the prototype has"
    known = {name: place for name, place in places.items() if place is not None}
    yield from _order("outputs", node, list(known), sorted(known, key=lambda name: known[name]))


def attributes(node: GeNode, kinds: Mapping[str, str], prototype: IrPrototype) -> Iterator[str]:
    """Check that every attribute is the prototype's, with its type; `kinds` tells how each is serialized."""
    types = {attribute.name: attribute.type for attribute in prototype.attributes}
    for name in node.ir_attrs:
        if name not in types:
            yield f"{node.type} has an attribute `{name}` that the prototype does not have"
        elif kinds.get(name) != _KINDS.get(types[name]):
            kind = next((vt for vt, kind in _KINDS.items() if kind == kinds.get(name)), "of no type")
            yield f"attribute `{name}` is {kind}, the prototype says {types[name]}"


def _order(what: str, node: GeNode, found: list[str], wanted: list[str]) -> Iterator[str]:
    if found != wanted:
        yield (
            f"the {what} of {node.type} are in the order {', '.join(found)}, the prototype says "
            f"{', '.join(wanted)}: kernels take them by position"
        )


def _place(name: str, tensors: Sequence[IrTensor]) -> tuple[int, int] | None:
    """Give where an output stands: its number in the prototype, and in a list."""
    for index, tensor in enumerate(tensors):
        item = name[len(tensor.name) :]
        if name == tensor.name:
            return index, 0
        if tensor.kind == "dynamic" and name.startswith(tensor.name) and item.isdigit():
            return index, int(item)
    return None
