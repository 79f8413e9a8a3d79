"""Mutants of the Ascend IR prototype: the converter and CANN both follow it, the declaration does not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from opkit.emit import converter as converter_module
from opkit.emit.ge_binding import bind
from opkit.model.operator import GeMapping
from opkit.model.prototype import IrAttribute, IrPrototype, IrTensor
from opkit.prove.mutants.kind import NAMESPACE, PROTOTYPE, Break, Kind, NotApplicable, Product


def _mutant(product: Product, prototype: IrPrototype) -> Product:
    """Tell CANN this prototype, and print the converter for it where the schema can be laid on it."""
    spec = product.spec
    ge = spec.ge or GeMapping(None, None, None, spec.mark)
    spec = replace(spec, ge=replace(ge, ir=prototype.op, prototype="mutant.json", prototypes=(prototype,)))
    converter = ""
    if bind(spec)[0] is not None:
        converter = converter_module.emit(replace(product.op_file, operators=(spec,)), NAMESPACE, "")
    return replace(product, converter=converter or product.converter, prototype=prototype)


def _of(product: Product) -> IrPrototype:
    if product.prototype is None or not product.converter:
        raise NotApplicable("it has no Ascend IR node")
    if product.spec.ge is not None and product.spec.ge.converter is not None:
        raise NotApplicable("its converter is written by hand")
    return product.prototype


def _each(field: str, change: object, nothing: str, only: object = None) -> Break:
    """Change each input, output or attribute in turn; a change to None takes it away."""

    def apply(product: Product) -> Iterator[tuple[str, Product]]:
        prototype = _of(product)
        found = False
        items = getattr(prototype, field)
        for index, item in enumerate(items):
            if only is not None and not only(prototype, item):  # type: ignore[operator]
                continue
            found = True
            changed = change(item)  # type: ignore[operator]
            new = (*items[:index], *([] if changed is None else [changed]), *items[index + 1 :])
            yield item.name, _mutant(product, _with(prototype, field, new))
        if not found:
            raise NotApplicable(nothing)

    return apply


def _with(prototype: IrPrototype, field: str, items: tuple[object, ...]) -> IrPrototype:
    changes: dict[str, Any] = {field: items}
    return replace(prototype, **changes)


def _order(field: str) -> Break:
    def apply(product: Product) -> Iterator[tuple[str, Product]]:
        prototype = _of(product)
        items = list(getattr(prototype, field))
        if len(items) < 2:
            raise NotApplicable(f"its node has fewer than two {field}")
        for i in range(len(items) - 1):
            changed = [*items[:i], items[i + 1], items[i], *items[i + 2 :]]
            where = f"{items[i].name}, {items[i + 1].name}"
            yield where, _mutant(product, _with(prototype, field, tuple(changed)))

    return apply


def _type(product: Product) -> Iterator[tuple[str, Product]]:
    prototype = _of(product)
    yield prototype.op, _mutant(product, replace(prototype, op=f"{prototype.op}Other"))


def _other_kind(tensor: IrTensor) -> IrTensor:
    return replace(tensor, kind="dynamic" if tensor.kind != "dynamic" else "required")


def _other_type(attribute: IrAttribute) -> IrAttribute:
    other = {"VT_FLOAT": "VT_INT", "VT_INT": "VT_STRING", "VT_BOOL": "VT_STRING", "VT_STRING": "VT_INT",
             "VT_LIST_INT": "VT_INT", "VT_LIST_FLOAT": "VT_FLOAT"}  # fmt: skip
    return replace(attribute, type=other.get(attribute.type, "VT_STRING"))


def _is_reference(prototype: IrPrototype, output: IrTensor) -> bool:
    return output.name in prototype.reference_outputs


def _renamed(item: IrTensor | IrAttribute) -> IrTensor | IrAttribute:
    return replace(item, name=f"{item.name}_other")


def _nothing(item: object) -> None:
    return None


def _kind(name: str, breaks: str, matters: str, apply: Break) -> Kind:
    return Kind(f"prototype-{name}", PROTOTYPE, breaks, matters, apply)


_KERNEL = "The kernel in CANN is built for another node than the graph holds."
KINDS = (
    _kind("other-type", "The prototype is that of another Ascend IR type.", "GE finds no kernel.", _type),
    _kind("written-output-missing", "A written input has no output of its name.",
          "GE takes the node as one that only reads: the write is lost or comes too late.",
          _each("outputs", _nothing, "it writes no input", _is_reference)),
    _kind("written-output-renamed", "The output of a written input has another name.",
          "GE gives the output memory of its own; the caller's tensor keeps its old values.",
          _each("outputs", _renamed, "it writes no input", _is_reference)),
    _kind("input-missing", "An input is missing.", _KERNEL, _each("inputs", _nothing, "it has no inputs")),
    _kind("input-renamed", "An input has another name.", _KERNEL,
          _each("inputs", _renamed, "it has no inputs")),
    _kind("input-kind", "A single input is a list, or a list a single input.", _KERNEL,
          _each("inputs", _other_kind, "it has no inputs")),
    _kind("inputs-order", "Two inputs are in the opposite order.",
          "CANN passes inputs to the kernel by position: each gets the other's tensor.", _order("inputs")),
    _kind("output-missing", "An output is missing.", "A result of the operator comes from nowhere.",
          _each("outputs", _nothing, "it has no outputs")),
    _kind("output-renamed", "An output has another name.", _KERNEL,
          _each("outputs", _renamed, "it has no outputs")),
    _kind("outputs-order", "Two outputs are in the opposite order.",
          "Results are read from the wrong place.", _order("outputs")),
    _kind("attribute-missing", "An attribute is missing.", "An argument of the operator is lost.",
          _each("attributes", _nothing, "it has no attributes")),
    _kind("attribute-renamed", "An attribute has another name.", "The kernel takes its default.",
          _each("attributes", _renamed, "it has no attributes")),
    _kind("attribute-type", "An attribute has another type.", "The kernel reads an empty field.",
          _each("attributes", _other_type, "it has no attributes")),
    _kind("attributes-order", "Two attributes are in the opposite order.",
          "CANN passes attributes to the kernel by position: each gets the other's value.",
          _order("attributes")),
)  # fmt: skip
