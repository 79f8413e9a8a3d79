"""What a kind of mutant is, and what it is applied to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from opkit.emit import converter as converter_module
from opkit.emit import emit_meta
from opkit.emit.ge_binding import bind
from opkit.emit.ir_json import find_prototype
from opkit.model.operator import OpFile, OpSpec
from opkit.model.prototype import IrPrototype
from opkit.shape import Environment

# Stands for the namespace that a mutant is registered in; no two mutants share one.
NAMESPACE = "opkit_mutant_namespace"
META, SCHEMA, CONVERTER, PROTOTYPE = "meta", "schema", "converter", "prototype"
# The mode whose stages look at each group.
MODE_OF = {META: "npugraph_ex", SCHEMA: "npugraph_ex", CONVERTER: "ge", PROTOTYPE: "ge"}


class NotApplicable(Exception):
    """The operator has nothing of what the kind breaks; the text says what is lacking."""


@dataclass(frozen=True)
class Product:
    """One operator with everything that is generated for it."""

    # What the operator is judged against, with those whose rule it inherits.
    op_file: OpFile
    spec: OpSpec
    style: str
    environment: Environment
    # The Meta module.
    meta: str
    # The converter module; empty where the operator has none.
    converter: str
    # What CANN is told about the node; None where the operator has none.
    prototype: IrPrototype | None

    def regenerated(self, spec: OpSpec, parts: tuple[str, ...] = (META, CONVERTER, PROTOTYPE)) -> Product:
        """Generate these parts from another spec, still judged against this one."""
        made = build(_with(self.op_file, spec), spec, self.style, self.environment)
        return replace(self, **{part: getattr(made, part) for part in parts})


def build(op_file: OpFile, spec: OpSpec, style: str, environment: Environment) -> Product:
    """Generate everything for one operator of a file. Raises OpkitError as the printers do."""
    spec = _renamed(spec)
    parents = [s for s in op_file.operators if s.name != spec.name and _inherits(op_file, spec, s)]
    file = replace(op_file, operators=(spec, *map(_renamed, parents)))
    meta = emit_meta(file, style, NAMESPACE, environment=environment)
    alone = replace(op_file, operators=(spec,))
    convertible = bind(spec)[0] is not None or (spec.ge is not None and spec.ge.converter is not None)
    converter = converter_module.emit(alone, NAMESPACE, "") if convertible else ""
    return Product(file, spec, style, environment, meta, converter, find_prototype(spec)[0])


def _renamed(spec: OpSpec) -> OpSpec:
    name = replace(spec.schema.name, namespace=NAMESPACE)
    return replace(spec, schema=replace(spec.schema, name=name))


def _with(op_file: OpFile, spec: OpSpec) -> OpFile:
    return replace(op_file, operators=tuple(spec if s.name == spec.name else s for s in op_file.operators))


def _inherits(op_file: OpFile, spec: OpSpec | None, other: OpSpec) -> bool:
    while spec is not None and spec.gen_opapi is not None and spec.gen_opapi.structured_inherit is not None:
        if spec.gen_opapi.structured_inherit == other.name:
            return True
        spec = op_file.operator(spec.gen_opapi.structured_inherit)
    return False


# Gives (where in the operator, the product with that broken), once per place; raises NotApplicable.
Break = Callable[[Product], Iterator["tuple[str, Product]"]]


@dataclass(frozen=True)
class Kind:
    """One kind of mutant, with its page."""

    name: str
    # "meta", "schema", "converter" or "prototype".
    group: str
    # What it breaks, one sentence.
    breaks: str
    # What goes wrong in a model when nobody notices.
    matters: str
    apply: Break
    # Only a kernel that computes can show it: the declaration is all there is otherwise.
    needs_kernel: bool = False
    # What it breaks is there on CPU tensors too, where opcheck looks.
    shown_on_cpu: bool = True
    # Nothing but what the Meta kernel returns is broken, so one that returns the same is no mutant.
    by_results: bool = True

    @property
    def mode(self) -> str:
        """The mode whose proof must kill it."""
        return MODE_OF[self.group]

    def page(self) -> str:
        """Print the kind's page."""
        return (
            f"{self.name} ({self.group})\n\nWhat it breaks: {self.breaks}\n\nWhy it matters: {self.matters}\n"
        )
