"""One call of an aten operator on NPU tensors: computed by the CPU's kernel, now or on each replay."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from opkit.cann import device
from opkit.cann.aten_functions import HOST_FUNCTIONS
from opkit.cann.aten_random import host_generator, is_generator
from opkit.cann.aten_replay import quick_call
from opkit.cann.operators import aliased_argument, as_results, call_meta, describe, find_operator, is_written
from opkit.cann.views import TaskViews, map_tensors, tensors_in

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class AtenOperator:
    """What the schema of an operator says about how its kernel has to work."""

    overload: Any  # torch._ops.OpOverload
    function: Callable[..., Any]  # what computes it on the CPU
    name: str
    outs: tuple[str, ...]  # the out= arguments
    stored: tuple[bool, ...]  # for each result: fresh or an out= argument, not an argument written in place
    returns_number: bool
    shape_by_value: bool  # the shape of a result depends on values
    draws: bool  # takes random numbers
    generator_keyword: bool  # "generator" is keyword-only
    mutated: frozenset[int | str]  # the arguments written in place: by position, or by name if keyword-only
    sizes_only: bool  # takes tensors for their sizes, and reads no value
    overwrites: bool  # what it writes in place does not depend on what was there
    keeps_strides: bool  # its results may follow the strides of an input


# Operators that take a tensor for its sizes only, and operators that overwrite their first argument.
_SIZES_ONLY = re.compile(r"new_(zeros|ones|full|empty)|(zeros|ones|full|rand|randn|randint|empty)_like")
_OVERWRITES = re.compile(
    r"(_foreach_)?(zero|fill|copy)_|(normal|uniform|random|exponential|log_normal|geometric|cauchy)_"
)


@functools.cache
def aten_operator(name: str) -> AtenOperator:
    """The operator that the dispatcher knows under `name`."""
    import torch

    overload = find_operator(name)
    schema = overload._schema
    outs = tuple(argument.name for argument in schema.arguments if argument.is_out)
    waiting = {torch.Tag.dynamic_output_shape, torch.Tag.data_dependent_output}
    generators = [argument for argument in schema.arguments if argument.name == "generator"]
    return AtenOperator(
        overload=overload,
        function=HOST_FUNCTIONS.get(name, overload),
        name=name,
        outs=outs,
        stored=tuple(bool(outs) or not is_written(result) for result in schema.returns),
        returns_number=any("Tensor" not in str(result.type) for result in schema.returns),
        shape_by_value=bool(waiting & {*overload.tags}),
        draws=bool(generators) or torch.Tag.nondeterministic_seeded in overload.tags,
        generator_keyword=any(argument.kwarg_only for argument in generators),
        mutated=frozenset(
            argument.name if argument.kwarg_only else index
            for index, argument in enumerate(schema.arguments)
            if is_written(argument) and not argument.is_out
        ),
        sizes_only=bool(_SIZES_ONLY.fullmatch(overload._overloadpacket.__name__)),
        overwrites=bool(_OVERWRITES.fullmatch(overload._overloadpacket.__name__)),
        # torch_npu 2.13's kernels allocate contiguous results, also where CPU kernels keep an input's
        # strides. Those that take a memory format do as torch does.
        keeps_strides=any(argument.name == "memory_format" for argument in schema.arguments),
    )


# Operators whose Meta kernels describe other results than the CPU kernels, which leave unused ones empty.
_META_DIFFERS = frozenset({"_embedding_bag", "_embedding_bag_forward_only"})

# Operators that take index tensors, of the host as well; of these only a mask has the host wait for values.
INDEXED = frozenset(
    {"index", "_unsafe_index", "index_put", "index_put_", "_index_put_impl_", "_unsafe_index_put"}
)


def waits(operator: AtenOperator, args: list[Any], kwargs: dict[str, Any]) -> bool:
    """Whether torch_npu's host code waits for values in this call, which a capture forbids.

    Found by capturing each operator with torch_npu 2.13's own kernel.
    """
    import torch

    base = operator.overload._overloadpacket.__name__
    if base in INDEXED:
        return any(tensor.dtype in (torch.bool, torch.uint8) for tensor in tensors_in([args[1]]))
    if base == "one_hot":
        return bool(args[1] == -1)
    if base == "repeat_interleave":
        return not operator.name.endswith("self_int") and kwargs.get("output_size") is None
    if operator.name == "aten::where":  # of a condition alone
        return True
    return operator.returns_number or operator.shape_by_value or base == "histc"


class HostCall:
    """The call on CPU views. It holds no NPU tensor, so a captured task keeps no memory in use."""

    def __init__(
        self, operator: AtenOperator, args: list[Any], kwargs: dict[str, Any], place: torch.device
    ) -> None:
        self._operator, self._place = operator, place
        self.views = TaskViews()
        self._args = [self._view(index, value) for index, value in enumerate(args)]
        self._kwargs = {
            key: self._view(key, value) for key, value in kwargs.items() if key not in operator.outs
        }
        self._kwargs.pop("pin_memory", None)
        drawn = [value for value in [*args, *kwargs.values()] if is_generator(value)]
        self._generator = drawn[0] if drawn else None
        # The CPU kernel gets empty out= tensors: it could not resize a view.
        self._outs = {name: map_tensors(kwargs[name], _no_elements) for name in operator.outs}

    def _view(self, place: int | str, value: Any) -> Any:
        operator = self._operator
        written = place in operator.mutated
        reads = not operator.sizes_only and not (written and operator.overwrites)
        return self.views.of(value, reads=reads, writes=written)

    def compute(self) -> list[Any]:
        """The results that are to be stored; arguments written in place are written."""
        return self._run(self._args, self._kwargs)

    def compute_on_zeros(self) -> list[Any]:
        """Results of the right dtype and size, whatever the values are now."""
        kwargs = {key: map_tensors(value, _zeros) for key, value in self._kwargs.items()}
        return self._run([map_tensors(value, _zeros) for value in self._args], kwargs)

    def quick_call(self, places: list[Any]) -> Callable[[], object] | None:
        """What does the call once more and leaves its result in `places`, unchecked; None if nothing does."""
        import torch

        operator = self._operator
        plain = operator.function is operator.overload and not operator.draws and not operator.outs
        if not plain or not all(isinstance(place, torch.Tensor) for place in places) or len(places) > 1:
            return None
        if not places and operator.mutated != {0}:
            return None
        return quick_call(operator.overload, self._args, self._kwargs, places[0] if places else None)

    def stored(self, value: Any) -> list[Any]:
        """What the operator returned, without arguments written in place."""
        if self._operator.stored == (True,) and not isinstance(value, (tuple, list)):
            return [value]
        results = as_results(value, len(self._operator.stored))
        if results is None:
            count = len(self._operator.stored)
            raise RuntimeError(
                f"{self._operator.name} gave {describe(value)}, its schema has {count} results"
            )
        return [item for item, keep in zip(results, self._operator.stored) if keep]

    def _run(self, args: list[Any], kwargs: dict[str, Any]) -> list[Any]:
        outs = {name: map_tensors(value, _no_elements) for name, value in self._outs.items()}
        function = self._operator.function
        if self._operator.draws:
            generator = host_generator(self._generator, self._place)
            args = [generator if is_generator(value) else value for value in args]
            if self._operator.generator_keyword:
                kwargs = {**kwargs, "generator": generator}
        return self.stored(function(*args, **kwargs, **outs))


class Call:
    """The call as torch_npu sees it: allocates outputs and submits one task."""

    def __init__(
        self, operator: AtenOperator, args: list[Any], kwargs: dict[str, Any], place: torch.device
    ) -> None:
        self._operator, self._place = operator, place
        self._args, self._kwargs = args, kwargs
        self._host = HostCall(operator, args, kwargs, place)

    def run(self) -> Any:
        """Runs the operator, or records it if the stream is being captured, and gives what it returns."""
        operator, host = self._operator, self._host
        if device.is_capturing(self._place.index):
            return self._record()
        computed: list[list[Any]] = []
        device.launch(operator.name, lambda: computed.append(host.compute()), self._place.index)
        if not computed:
            raise RuntimeError(f"{operator.name}: the stream waits for an event that was not recorded yet")
        if operator.returns_number and not tensors_in(computed[0]):
            host.views.carry_marks()
            return self._answer(computed[0])
        targets = self._targets(computed[0])
        for source, target in zip(computed[0], targets):
            _store(operator.name, source, host.views.written(target))
        host.views.carry_marks()
        return self._answer(targets)

    def _record(self) -> Any:
        """Outputs are described without values, allocated now and written by the task, on each replay."""
        operator, host = self._operator, self._host
        targets = self._targets(self._describe())
        places = [host.views.written(target) for target in targets]

        def first() -> None:
            for source, place in zip(host.compute(), places):
                _store(operator.name, source, place)
            task.run = host.quick_call(places) or first

        task = device.Task(operator.name, first, host.views)
        device.submit(task, self._place.index)
        return self._answer(targets)

    def _describe(self) -> list[Any]:
        """Results of the right dtype and size, from the Meta kernel or else from the CPU kernel on zeros."""
        kwargs = {key: value for key, value in self._kwargs.items() if key not in ("generator", "pin_memory")}
        args = [None if is_generator(value) else value for value in self._args]
        if self._operator.overload._overloadpacket.__name__ in _META_DIFFERS:
            return self._host.compute_on_zeros()
        try:
            return self._host.stored(call_meta(self._operator.overload, args, kwargs))
        except NotImplementedError:
            return self._host.compute_on_zeros()

    def _targets(self, results: list[Any]) -> list[Any]:
        """Where results are stored: the out= arguments, resized as torch does, or fresh tensors."""
        import torch

        if not self._operator.outs:
            asked = self._kwargs.get("device")
            place = self._place if asked is None else asked
            layout = torch.preserve_format if self._operator.keeps_strides else torch.contiguous_format
            return [
                map_tensors(item, lambda t: torch.empty_like(t, device=place, memory_format=layout))
                for item in results
            ]
        targets = [self._kwargs[name] for name in self._operator.outs]
        for target, wanted in zip(tensors_in(targets), tensors_in(results)):
            if target.size() != wanted.size():
                target.resize_(wanted.size())
        return targets

    def _answer(self, stored: list[Any]) -> Any:
        rest = iter(stored)
        overload = self._operator.overload
        answers = [
            next(rest) if keep else aliased_argument(overload, declared, self._args, self._kwargs)
            for keep, declared in zip(self._operator.stored, overload._schema.returns)
        ]
        return tuple(answers) if len(answers) > 1 else (answers[0] if answers else None)


def _no_elements(tensor: torch.Tensor) -> torch.Tensor:
    import torch

    return torch.empty(0, dtype=tensor.dtype, device="cpu")


def _zeros(tensor: torch.Tensor) -> torch.Tensor:
    import torch

    return torch.zeros(tensor.size(), dtype=tensor.dtype, device="cpu")


def _store(name: str, source: Any, target: Any) -> None:
    for result, place in zip(tensors_in([source]), tensors_in([target])):
        if result.dtype != place.dtype or result.size() != place.size():
            raise RuntimeError(f"{name} computed {describe(result)}, its output is {describe(place)}")
        place.copy_(result)
