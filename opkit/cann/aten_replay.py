"""Replays of recorded aten calls: once everything was checked, one call into torch for each task.

The shortest way to a CPU kernel is torch's own function or method of that name, with the output as `out=`. It
takes half the time of a call through `torch.ops`, but may stand for several overloads, or do more than call
one. So it is only used for a call that it hands to the very overload meant.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from opkit.cann.operators import is_written
from opkit.cann.views import map_tensors

if TYPE_CHECKING:
    import torch


def quick_call(
    overload: Any, args: list[Any], kwargs: dict[str, Any], place: torch.Tensor | None
) -> Callable[[], object] | None:
    """What computes a call on CPU tensors and leaves its only result in `place`; None if nothing quick does.

    With `place` None the call must write its first argument in place, and have no other effect.
    """
    args, kwargs = _without_defaults(overload, args, kwargs)
    target = overload if place is None else _out_variant(overload)
    if target is None:
        return None
    if place is not None:
        kwargs = {**kwargs, target._schema.arguments[-1].name: place}
    kinds = (*map(_kind, args), *((key, _kind(value)) for key, value in kwargs.items()))
    if (target, kinds) not in _best:
        calls = (functools.partial(way, *args, **kwargs) for way in _ways(target))
        _best[target, kinds] = next((call.func for call in calls if _reaches(call, target)), target._op)
    return functools.partial(_best[target, kinds], *args, **kwargs)


_best: dict[tuple[Any, tuple[Any, ...]], Callable[..., Any]] = {}  # by overload and kinds of arguments


def _kind(value: Any) -> Any:
    """What torch's functions choose an overload by: types, and whether a tensor can be a number."""
    dimensions = getattr(value, "dim", None)
    return type(value), dimensions is not None and dimensions() == 0


def _ways(target: Any) -> Iterator[Callable[..., Any]]:
    import torch

    name = target._overloadpacket.__name__
    for owner in (torch._C._VariableFunctions, torch._C._nn, torch.Tensor):
        way = getattr(owner, name, None)
        if callable(way):
            yield way


def _reaches(call: functools.partial[Any], target: Any) -> bool:
    """Whether the call comes down to one call of `target`; nothing is computed to find out."""
    from torch.utils._python_dispatch import TorchDispatchMode

    seen: list[Any] = []

    class Calls(TorchDispatchMode):  # type: ignore[misc, unused-ignore]
        """Sees the calls that reach the dispatcher, and answers them with their output unchanged."""

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func)
            last = func._schema.arguments[-1].name
            return (kwargs or {}).get(last, args[0] if args else None)

    try:
        with Calls():
            call()
    except (TypeError, RuntimeError, NotImplementedError):
        return False
    return seen == [target]


def _without_defaults(
    overload: Any, args: list[Any], kwargs: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """The arguments without those that the dispatcher would fill in just so, because each costs time."""
    declared = overload._schema.arguments
    defaults = {item.name: item.default_value for item in declared if item.has_default_value()}
    args = list(args)
    while args and declared[len(args) - 1].name in defaults:
        if not _same(args[-1], defaults[declared[len(args) - 1].name]):
            break
        args.pop()
    left = {
        key: value for key, value in kwargs.items() if not (key in defaults and _same(value, defaults[key]))
    }
    return args, left


def _same(value: Any, default: Any) -> bool:
    found: list[Any] = []
    map_tensors(value, found.append)
    return not found and type(value) is type(default) and bool(value == default)


@functools.cache
def _out_variant(overload: Any) -> Any:
    """The overload with the same arguments and one `out`; None if there is none."""
    wanted = [(item.name, str(item.type)) for item in overload._schema.arguments]
    packet = overload._overloadpacket
    for name in packet.overloads():
        candidate = getattr(packet, name)
        *rest, last = candidate._schema.arguments
        if last.is_out and is_written(last) and [(item.name, str(item.type)) for item in rest] == wanted:
            return candidate
    return None
