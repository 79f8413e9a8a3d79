"""aten operators on NPU tensors compute: kernels that run torch's own CPU kernels on the same memory.

torch_npu's kernels for these operators launch aclnn kernels, which the stand-in can only record. Here each operator
that torch_npu implements and that the CPU can compute gets a kernel in Python instead. Left to torch_npu are
 - views, allocation, resizing and copies between devices: they involve no kernel, or one that the stand-in has;
 - `item()`: it copies to the host and waits, which must be refused during capture as on the device;
 - operators that torch_npu does not implement: it runs them on the host, copying there and back, which must be refused
   during capture, too.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from opkit.cann import device
from opkit.cann.aten_random import host_generator
from opkit.cann.library import standin
from opkit.cann.operators import (
    aliased_argument,
    as_results,
    call_meta,
    describe,
    fill_defaults,
    find_operator,
    is_written,
)
from opkit.cann.views import TaskViews, cpu_view, map_tensors, tensors_in

if TYPE_CHECKING:
    import torch

# What torch_npu keeps although the CPU has a kernel, by name without overload. Views are found by their schema.
_KEPT = frozenset(
    "_copy_from _copy_from_and_resize _lazy_clone _local_scalar_dense _pin_memory _reshape_copy _resize_output "
    "_resize_output_ _to_copy clone contiguous copy_ empty empty_like empty_permuted empty_quantized empty_strided "
    "is_pinned is_set_to new_empty new_empty_strided pin_memory record_stream resize resize_ resize_as_ set_ "
    "to_padded_tensor".split()
)
# Operators that take host tensors of any size as indices; torch_npu copies these to the device first.
_HOST_INDICES = frozenset(
    {"index", "_unsafe_index", "index_put", "index_put_", "_index_put_impl_", "_unsafe_index_put"}
)

_library: Any = None  # torch.library.Library: the kernels live as long as it does


def install_aten_kernels() -> int:
    """Registers the kernels, once in a process; torch_npu must be imported. Returns how many operators have one.

    Raises OpkitError on real CANN, where a real kernel must never be replaced.
    """
    import torch

    global _library
    standin()
    names = _computable()
    if _library is None:
        library = torch.library.Library("aten", "IMPL", "PrivateUse1")
        implement = (
            library.m.impl
        )  # Library.impl itself costs four times as much for checks that cannot fail here
        for name in names:
            implement(name.removeprefix("aten::"), "PrivateUse1", functools.partial(_call, name))
        _library = library
    return len(names)


@functools.lru_cache(maxsize=None)
def _computable() -> tuple[str, ...]:
    import torch

    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    has_computed = torch._C._dispatch_has_computed_kernel_for_dispatch_key
    return tuple(
        name
        for name in torch._C._dispatch_get_all_op_names()
        if name.startswith("aten::")
        and name.removeprefix("aten::").partition(".")[0] not in _KEPT
        and has_kernel(name, "PrivateUse1")
        and has_computed(name, "CPU")
        and not _is_view(name)
    )


def _is_view(name: str) -> bool:
    import torch

    base, _, overload = name.partition(".")
    schema = torch._C._get_schema(base, overload)
    return any(
        result.alias_info is not None and not result.alias_info.is_write for result in schema.returns
    ) or any(
        argument.alias_info is not None and not argument.alias_info.is_write for argument in schema.arguments
    )


@dataclass(frozen=True)
class _Operator:
    """What the schema of an operator says about how its kernel has to work."""

    overload: Any  # torch._ops.OpOverload
    name: str
    outs: tuple[str, ...]  # the out= arguments
    waits: bool  # the host needs values: the result is a number, or its shape depends on values
    draws: bool  # takes random numbers


@functools.lru_cache(maxsize=None)
def _operator(name: str) -> _Operator:
    import torch

    overload = find_operator(name)
    schema = overload._schema
    waiting = {torch.Tag.dynamic_output_shape, torch.Tag.data_dependent_output}
    return _Operator(
        overload=overload,
        name=name,
        outs=tuple(argument.name for argument in schema.arguments if argument.is_out),
        waits=any("Tensor" not in str(result.type) for result in schema.returns)
        or bool(waiting & set(overload.tags)),
        draws=any(argument.name == "generator" for argument in schema.arguments)
        or torch.Tag.nondeterministic_seeded in overload.tags,
    )


def _call(name: str, *args: Any, **kwargs: Any) -> Any:
    """The kernel of every operator."""
    import torch

    operator = _operator(name)
    positional, keywords = fill_defaults(operator.overload, args, kwargs)
    if name == "aten::_foreach_copy_" and any(t.device.type != "npu" for t in tensors_in(positional)):
        for target, source in zip(positional[0], positional[1]):
            target.copy_(source, positional[2])
        return None
    place = _place(operator, positional, keywords)
    positional = [_on_device(operator, value, place) for value in positional]
    if operator.waits:
        torch.npu.current_stream().synchronize()
    return _Call(operator, positional, keywords, place).run()


def _place(operator: _Operator, args: list[Any], kwargs: dict[str, Any]) -> torch.device:
    """The device of the call. Raises RuntimeError for tensors on different devices, as every device does."""
    import torch

    tensors = [*tensors_in(args), *tensors_in(kwargs)]
    places = {tensor.device: None for tensor in tensors if tensor.device.type != "cpu" or tensor.dim()}
    if operator.overload._overloadpacket.__name__ in _HOST_INDICES:
        places = {found: None for found in places if found.type != "cpu"}
    if len(places) > 1:
        raise RuntimeError(
            f"{operator.name}: Expected all tensors to be on the same device, but found at least two devices, "
            + " and ".join(str(found) for found in places)
        )
    if places:
        return next(iter(places))
    asked = kwargs.get("device")
    if isinstance(asked, torch.device) and asked.index is not None:
        return asked
    return torch.device("npu", torch.npu.current_device())


def _on_device(operator: _Operator, value: Any, place: torch.device) -> Any:
    """Index tensors of the host moved to the device, through torch_npu's own copy, which capture refuses."""
    if operator.overload._overloadpacket.__name__ not in _HOST_INDICES:
        return value
    return map_tensors(value, lambda t: t.to(place) if t.device.type == "cpu" and t.dim() else t)


class _Call:
    """One call of an operator: what the CPU kernel gets, and where its results go."""

    def __init__(
        self, operator: _Operator, args: list[Any], kwargs: dict[str, Any], place: torch.device
    ) -> None:
        self._operator = operator
        self._args, self._kwargs = args, kwargs
        self._place = place
        self._views = TaskViews()
        self._host_args = [self._views.of(value) for value in args]
        self._host_kwargs = {
            key: self._views.of(value) for key, value in kwargs.items() if key not in operator.outs
        }
        self._host_kwargs.pop("pin_memory", None)
        self._generator = self._host_kwargs.pop("generator", None)
        if operator.draws and self._generator is None:
            self._generator = next((a for a in args if _is_generator(a)), None)

    def run(self) -> Any:
        operator = self._operator
        if device.is_capturing():
            return self._run_later()
        computed: list[Any] = []
        device.launch(operator.name, lambda: computed.append(self._compute()))
        if not computed:
            raise RuntimeError(f"{operator.name}: the stream waits for an event that was not recorded yet")
        if operator.waits and not tensors_in([computed[0]]):
            return computed[0]
        fresh = self._results(computed[0])
        targets = self._targets([map_tensors(item, self._like) for item in fresh])
        for source, target in zip(fresh, targets):
            _store(operator.name, source, _viewed(target))
        return self._answer(targets)

    def _run_later(self) -> Any:
        """Outputs are described without values, allocated now and written by the task, on each replay."""
        targets = self._targets([map_tensors(item, self._like) for item in self._results(self._describe())])
        places = [self._views.of(target) for target in targets]

        def task() -> None:
            self._views.require_alive(self._operator.name)
            for source, target in zip(self._results(self._compute()), places):
                _store(self._operator.name, source, target)

        device.launch(self._operator.name, task)
        return self._answer(targets)

    def _compute(self) -> Any:
        import torch

        with torch.no_grad():
            return self._invoke(self._host_args, self._host_kwargs)

    def _invoke(self, args: list[Any], kwargs: dict[str, Any]) -> Any:
        operator = self._operator
        if operator.draws:
            generator = host_generator(self._generator, self._place)
            args = [generator if _is_generator(value) else value for value in args]
            if any(a.name == "generator" and a.kwarg_only for a in operator.overload._schema.arguments):
                kwargs = {**kwargs, "generator": generator}
        outs = {name: map_tensors(self._kwargs[name], _empty_like_out) for name in operator.outs}
        return operator.overload(*args, **kwargs, **outs)

    def _describe(self) -> Any:
        """Results of the right dtype and size, from the Meta kernel or else from the CPU kernel on zeros."""
        kwargs = {key: value for key, value in self._kwargs.items() if key not in ("generator", "pin_memory")}
        args = [None if _is_generator(value) else value for value in self._args]
        try:
            return call_meta(self._operator.overload, args, kwargs)
        except NotImplementedError:
            zeros = [map_tensors(value, _zeros) for value in self._host_args]
            return self._invoke(
                zeros, {key: map_tensors(value, _zeros) for key, value in self._host_kwargs.items()}
            )

    def _results(self, value: Any) -> list[Any]:
        """The results that are memory of their own: fresh tensors and out= arguments, not arguments written in place."""
        schema = self._operator.overload._schema
        results = as_results(value, len(schema.returns))
        if results is None:
            raise RuntimeError(
                f"{self._operator.name} gave {describe(value)} for {len(schema.returns)} results"
            )
        return [item for item, declared in zip(results, schema.returns) if self._is_stored(declared)]

    def _is_stored(self, declared: Any) -> bool:
        return not is_written(declared) or bool(self._operator.outs)

    def _like(self, tensor: torch.Tensor) -> torch.Tensor:
        import torch

        asked = self._kwargs.get("device")
        return torch.empty_like(tensor, device=asked if asked is not None else self._place)

    def _targets(self, fresh: list[Any]) -> list[Any]:
        """Where results are stored: the out= arguments, resized as torch does, or fresh tensors."""
        if not self._operator.outs:
            return fresh
        targets = [self._kwargs[name] for name in self._operator.outs]
        for target, wanted in zip(tensors_in(targets), tensors_in(fresh)):
            if target.size() != wanted.size():
                target.resize_(wanted.size())
        return targets

    def _answer(self, stored: list[Any]) -> Any:
        rest = iter(stored)
        answers = [
            next(rest)
            if self._is_stored(declared)
            else aliased_argument(self._operator.overload, declared, self._args, self._kwargs)
            for declared in self._operator.overload._schema.returns
        ]
        return tuple(answers) if len(answers) > 1 else (answers[0] if answers else None)


def _is_generator(value: Any) -> bool:
    import torch

    return isinstance(value, torch.Generator)


def _empty_like_out(tensor: torch.Tensor) -> torch.Tensor:
    import torch

    return torch.empty(0, dtype=tensor.dtype, device="cpu")


def _zeros(tensor: torch.Tensor) -> torch.Tensor:
    import torch

    return torch.zeros(tensor.size(), dtype=tensor.dtype, device="cpu")


def _viewed(target: Any) -> Any:
    return map_tensors(target, lambda t: cpu_view(t) if t.device.type == "npu" else t)


def _store(name: str, source: Any, target: Any) -> None:
    for result, place in zip(tensors_in([source]), tensors_in([target])):
        if result.dtype != place.dtype or result.size() != place.size():
            raise RuntimeError(
                f"{name} computed {describe(result)}, its output was allocated as {describe(place)}"
            )
        place.copy_(result)
