"""An Ascend IR operator prototype: the operator as GE knows it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class IrTensor:
    """An input or output of the prototype."""

    name: str
    # "required", "optional" or "dynamic".
    kind: str
    # msOpGen dtype names ("fp16"), one per supported combination; empty means any.
    dtypes: tuple[str, ...] = ()


@dataclass(frozen=True)
class IrAttribute:
    """An attribute of the prototype."""

    name: str
    # GE's value type: VT_INT, VT_FLOAT, VT_BOOL, VT_STRING, VT_DATA_TYPE, VT_LIST_INT, ...
    type: str
    required: bool
    default: object = None


@dataclass(frozen=True)
class IrPrototype:
    """A whole prototype. An input the operator writes is also an output of the same name, first."""

    op: str
    inputs: tuple[IrTensor, ...]
    outputs: tuple[IrTensor, ...]
    attributes: tuple[IrAttribute, ...]

    @property
    def reference_outputs(self) -> tuple[str, ...]:
        """Outputs that are the same memory as the input of that name."""
        inputs = {i.name for i in self.inputs}
        return tuple(o.name for o in self.outputs if o.name in inputs)
