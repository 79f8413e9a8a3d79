"""Kernels for custom operators on the stand-in: a reference function in Python, or nothing but the launch.

A kernel bound here behaves to torch_npu as a compiled one does: it allocates the outputs that the operator's
Meta kernel describes, submits one task and returns. Only the task looks at values.
"""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable

from opkit.cann import device
from opkit.cann.library import standin
from opkit.cann.operators import (
    aliased_argument,
    as_results,
    describe,
    describe_outputs,
    fill_defaults,
    find_operator,
    mutated_arguments,
    operator_name,
)
from opkit.cann.views import POISON, WRITE_MARK, TaskViews, fill_bytes, map_tensors, tensors_in
from opkit.errors import OpkitError

if TYPE_CHECKING:
    import torch

Function = Callable[..., Any]


@dataclass(frozen=True)
class _Binding:
    operator: Any  # torch._ops.OpOverload
    function: Function | None
    library: Any  # torch.library.Library; the registration lives as long as it does


_bindings: dict[str, _Binding] = {}
_calls: Counter[str] = Counter()
_lock = threading.Lock()


def bind_reference(name: str, function: Function | None, *, replace: bool = False) -> None:
    """Gives the defined operator `name` ("ns::op" or "ns::op.overload") an NPU kernel on the stand-in.

    `function` takes the operator's arguments, every default filled in and keyword-only ones by keyword, with
    CPU views in place of NPU tensors. It returns what the schema returns, or writes mutated arguments in
    place. With None the kernel computes nothing: outputs are left poisoned and mutated arguments are filled
    with WRITE_MARK.

    Raises OpkitError when the operator is not defined, has a result that no kernel can give, already has an
    NPU kernel (unless `replace`), or when the process runs on real CANN, where a real kernel must never be
    replaced.
    """
    import torch

    standin()  # raises on real CANN
    operator = find_operator(name)
    name = operator_name(operator)
    _check_returns(operator)
    with _lock:
        if not replace and torch._C._dispatch_has_kernel_for_dispatch_key(name, "PrivateUse1"):
            raise OpkitError(
                f"{name} already has an NPU kernel", "pass replace=True to put the reference in its place"
            )
        _drop(name)
        namespace, _, short = name.partition("::")
        library = torch.library.Library(namespace, "IMPL")
        # Library.impl would refuse to replace a kernel in Python before torch 2.8.
        library.m.impl(short, "PrivateUse1", _kernel(operator, function))
        _bindings[name] = _Binding(operator, function, library)


def unbind_reference(name: str) -> None:
    """Takes the kernel away again; the one it replaced is back. Raises OpkitError if none is bound."""
    name = operator_name(find_operator(name))
    with _lock:
        if name not in _bindings:
            raise OpkitError(f"no reference is bound to {name}")
        _drop(name)


def reference_function(name: str) -> Function | None:
    """The function bound to an operator; None if it has none or is bound to compute nothing."""
    binding = _bindings.get(operator_name(find_operator(name)))
    return binding.function if binding else None


def is_bound(name: str) -> bool:
    """Whether bind_reference gave this operator its kernel."""
    return operator_name(find_operator(name)) in _bindings


def kernel_calls(name: str) -> int:
    """How often the host side of a bound kernel was called: it must not grow while a graph replays."""
    return _calls[operator_name(find_operator(name))]


def _drop(name: str) -> None:
    binding = _bindings.pop(name, None)
    if binding is not None:
        binding.library._destroy()


def _check_returns(operator: Any) -> None:
    for result in operator._schema.returns:
        if result.alias_info is not None and not result.alias_info.is_write:
            raise OpkitError(f"{operator.name()} returns a view of an argument: views need no kernel")
        if "Tensor" not in str(result.type):
            raise OpkitError(
                f"{operator.name()} returns {result.type}: a kernel runs later and has no number",
                "return it as a tensor",
            )


def _kernel(operator: Any, function: Function | None) -> Function:
    name = operator_name(operator)

    def kernel(*args: Any, **kwargs: Any) -> Any:
        _calls[name] += 1
        positional, keywords = fill_defaults(operator, args, kwargs)
        place = _device_of(positional, keywords)
        results = _allocate(operator, positional, keywords, place)
        task = _task(operator, function, positional, keywords, [r for r, fresh in results if fresh])
        device.submit(task, place.index)
        values = tuple(result for result, _ in results)
        return values[0] if len(values) == 1 else (values or None)

    return kernel


def _allocate(
    operator: Any, args: list[Any], kwargs: dict[str, Any], place: torch.device
) -> list[tuple[Any, bool]]:
    """Each result and whether it is fresh memory; a result with `(a!)` is the mutated argument itself."""
    results: list[tuple[Any, bool]] = []
    described = describe_outputs(operator, args, kwargs)
    for spec, declared in zip(described, operator._schema.returns):
        if declared.alias_info is not None:
            results.append((aliased_argument(operator, declared, args, kwargs), False))
        else:
            results.append((map_tensors(spec, lambda meta: _fresh(meta, place)), True))
    return results


def _fresh(meta: torch.Tensor, place: torch.device) -> torch.Tensor:
    import torch

    return torch.empty_strided(meta.size(), meta.stride(), dtype=meta.dtype, device=place)


def _device_of(args: list[Any], kwargs: dict[str, Any]) -> torch.device:
    import torch

    for tensor in [*tensors_in(args), *tensors_in(kwargs)]:
        if tensor.device.type == "npu":
            return tensor.device
    for value in [*args, *kwargs.values()]:
        if isinstance(value, torch.device):
            return value
    return torch.device("npu", torch.npu.current_device())


def _task(
    operator: Any, function: Function | None, args: list[Any], kwargs: dict[str, Any], fresh: list[Any]
) -> device.Task:
    views = TaskViews()
    outputs = [views.written(result) for result in fresh]
    mutated = [views.written(value) for value in mutated_arguments(operator, args, kwargs).values()]
    if function is None:
        return device.Task(operator.name(), _uncomputed(operator.name(), views, outputs, mutated))
    call_args = [views.of(value) for value in args]
    call_kwargs = {key: views.of(value) for key, value in kwargs.items()}
    expected = [declared.alias_info is None for declared in operator._schema.returns]

    def run() -> None:
        returned = function(*call_args, **call_kwargs)
        results = as_results(returned, len(expected))
        if results is None:
            raise OpkitError(
                f"the reference of {operator.name()} returned {describe(returned)}, "
                f"the schema has {len(expected)} results"
            )
        for number, (result, output) in enumerate(
            zip([r for r, is_fresh in zip(results, expected) if is_fresh], outputs)
        ):
            write_result(operator.name(), number, result, output)

    return device.Task(operator_name(operator), run, views)


def _uncomputed(name: str, views: TaskViews, outputs: list[Any], mutated: list[Any]) -> Callable[[], None]:
    def run() -> None:
        views.require_alive("a kernel without reference")
        for view in tensors_in(outputs):
            fill_bytes(view, POISON)
        for view in tensors_in(mutated):
            fill_bytes(view, WRITE_MARK)
        views.mark_written(name)

    return run


def write_result(name: str, number: int, result: Any, output: Any) -> None:
    """Copies what a reference returned to the output the Meta kernel described; both must be of one kind.

    Raises OpkitError naming both when count, dtype or shape differ.
    """
    import torch

    if isinstance(output, (list, tuple)):
        if not isinstance(result, (list, tuple)) or len(result) != len(output):
            raise OpkitError(_mismatch(name, number, result, output))
        for item, place in zip(result, output):
            write_result(name, number, item, place)
        return
    if output is None and result is None:
        return
    same = (
        isinstance(result, torch.Tensor)
        and isinstance(output, torch.Tensor)
        and result.dtype == output.dtype
        and result.size() == output.size()
    )
    if not same:
        raise OpkitError(_mismatch(name, number, result, output))
    output.copy_(result)


def _mismatch(name: str, number: int, result: Any, output: Any) -> str:
    return (
        f"{name}: the reference returned {describe(result)} as result {number}, "
        f"its Meta kernel says {describe(output)}"
    )
