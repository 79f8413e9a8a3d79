"""Custom Ascend IR nodes: the operator each stands for, and how IR names map to its arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable, Union

from opkit.cann.ge_dtypes import from_number
from opkit.cann.ge_layout_nodes import STANDARD
from opkit.cann.ge_nodes import NodeCall
from opkit.cann.operators import (
    as_results,
    describe,
    describe_outputs,
    find_operator,
    is_written,
    mutated_arguments,
)
from opkit.cann.reference import reference_function, write_result
from opkit.cann.views import POISON, WRITE_MARK, fill_bytes, map_tensors, tensors_in
from opkit.errors import OpkitError

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class NodeSpec:
    """How an Ascend IR node is one call of a torch operator."""

    operator: str  # "ns::op" or "ns::op.overload"
    # Schema argument -> IR input or attribute; an argument that is not listed has the name of its IR
    # counterpart.
    arguments: Mapping[str, str] = field(default_factory=dict)
    # IR output of each result of the schema that is not a mutated argument, in order. Mutated arguments come
    # out under the IR name of their input.
    outputs: tuple[str, ...] = ()

    def ir_name(self, argument: str) -> str:
        """The IR name of a schema argument."""
        return self.arguments.get(argument, argument)


Adapter = Union[NodeSpec, Callable[[NodeCall], Any]]
_adapters: dict[str, Adapter] = {}


def register_node(ir_type: str, adapter: Adapter, *, replace: bool = False) -> None:
    """Teaches the interpreter a custom node: the call of an operator that has a reference, or a function.

    A function takes a NodeCall and returns the node's output or the list of its outputs; it writes in-place
    outputs to the memory of their input and returns that. Raises OpkitError for a type that is known already.
    """
    if ir_type in STANDARD:
        raise OpkitError(f"{ir_type} is a standard Ascend IR node")
    if ir_type in _adapters and not replace:
        raise OpkitError(
            f"the node type {ir_type} is registered already", "pass replace=True to register it anew"
        )
    if isinstance(adapter, NodeSpec):
        _check_spec(ir_type, adapter)
    _adapters[ir_type] = adapter


def forget_node(ir_type: str) -> None:
    """Takes a registration back; a type that is not registered is no error."""
    _adapters.pop(ir_type, None)


def adapter_of(ir_type: str) -> Adapter | None:
    """What was registered for a node type."""
    return _adapters.get(ir_type)


def _check_spec(ir_type: str, spec: NodeSpec) -> None:
    schema = find_operator(spec.operator)._schema
    known = {argument.name for argument in schema.arguments}
    unknown = sorted(set(spec.arguments) - known)
    if unknown:
        raise OpkitError(f"{ir_type}: {spec.operator} has no argument {', '.join(unknown)}")
    fresh = [result for result in schema.returns if not is_written(result)]
    if len(spec.outputs) != len(fresh):
        raise OpkitError(
            f"{ir_type}: {spec.operator} has {len(fresh)} results of its own, "
            f"the node names {len(spec.outputs)} outputs"
        )


def call_custom(call: NodeCall, spec: NodeSpec, *, compute: bool) -> tuple[dict[str, Any], bool]:
    """The node's outputs by IR name, and whether they were computed.

    With `compute` False, or where no reference function is bound, fresh outputs have the size the Meta kernel
    says and are poisoned, and mutated inputs get the write mark (nothing at all with `compute` False).
    """
    operator = find_operator(spec.operator)
    args, kwargs = _arguments(call, spec, operator)
    specs = [
        item
        for item, declared in zip(describe_outputs(operator, args, kwargs), operator._schema.returns)
        if not is_written(declared)
    ]
    outputs = [map_tensors(item, _poisoned) for item in specs]
    mutated = {spec.ir_name(name): value for name, value in mutated_arguments(operator, args, kwargs).items()}
    function = reference_function(spec.operator) if compute else None
    if function is not None:
        results = as_results(function(*args, **kwargs), len(operator._schema.returns))
        if results is None:
            raise OpkitError(
                f"the reference of {spec.operator} returned another number of results than its schema"
            )
        kept = [item for item, declared in zip(results, operator._schema.returns) if not is_written(declared)]
        for number, (result, output) in enumerate(zip(kept, outputs)):
            write_result(spec.operator, number, result, output)
    elif compute:
        for tensor in tensors_in(mutated):
            fill_bytes(tensor, WRITE_MARK)
    return {**dict(zip(spec.outputs, outputs)), **mutated}, function is not None


def _poisoned(meta: torch.Tensor) -> torch.Tensor:
    import torch

    fresh = torch.empty(meta.size(), dtype=meta.dtype, device="cpu")
    fill_bytes(fresh, POISON)
    return fresh


def _arguments(call: NodeCall, spec: NodeSpec, operator: Any) -> tuple[list[Any], dict[str, Any]]:
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for argument in operator._schema.arguments:
        value = _argument(call, spec.ir_name(argument.name), argument)
        if argument.kwarg_only:
            kwargs[argument.name] = value
        else:
            args.append(value)
    return args, kwargs


def _argument(call: NodeCall, ir_name: str, argument: Any) -> Any:
    """The value of one schema argument: from an IR input, from an attribute, or else its default."""
    kind = str(argument.type)
    if "List[Tensor]" in kind or "List[Optional[Tensor]]" in kind:
        return call.many(ir_name)
    value = call.get(ir_name)
    if "Tensor" in kind:
        if value is None and "Optional" not in kind:
            return call[ir_name]
        return value
    if value is not None:  # a host value that the IR takes as an input
        return value.flatten().tolist() if "List" in kind else value.item()
    if ir_name in call.node.attrs:
        return _host_value(call.node.attrs[ir_name], argument)
    if not argument.has_default_value() and "Optional" not in kind:
        raise OpkitError(
            f"GE node {call.node.name} ({call.node.type}) has neither an input nor an attribute "
            f'"{ir_name}" for the argument {argument.name} of the operator'
        )
    return argument.default_value


def _host_value(value: Any, argument: Any) -> Any:
    kind = str(argument.real_type)
    if "ScalarType" in kind and isinstance(value, int):
        return from_number(value).torch()
    if "bool" in kind and isinstance(value, int):
        return bool(value)
    return value


def missing_outputs(call: NodeCall, outputs: Mapping[str, Any]) -> str:
    """Text for a node whose IR outputs and whose operator's results do not fit."""
    wanted = [desc.name for desc in call.node.outputs]
    return f"{call.node.type} has the outputs {wanted}, the operator gives {describe_names(outputs)}"


def describe_names(outputs: Mapping[str, Any]) -> str:
    """Names with dtype and shape."""
    return ", ".join(f"{name} {describe(value)}" for name, value in outputs.items()) or "nothing"
