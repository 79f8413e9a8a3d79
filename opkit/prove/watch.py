"""Observes the worker: registrations as they are made, compiles as they start, kernels as they run.

torch keeps no readable record of the Python functions behind a dispatch key, so `torch.library.Library.impl`
is wrapped before any user module is imported. The wrapper registers exactly what it is given; only kernels of
the NPU get a counter around them.
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Callable
from typing import Any

_KERNEL_KEYS = ("PrivateUse1", "NPU", "npu", "CompositeExplicitAutograd")


class Watch:
    """The observations of one worker."""

    def __init__(self) -> None:
        # (ns::name[.overload], dispatch key) -> the Python function.
        self.functions: dict[tuple[str, str], Callable[..., Any]] = {}
        self.kernel_calls: Counter[str] = Counter()
        # Operators that were defined but had no Meta kernel when some compile started.
        self.compiled_without_meta: set[str] = set()
        self._watched: set[str] = set()

    def install(self, operators: set[str]) -> None:
        """Start observing; `operators` are the qualified names whose Meta registration is watched."""
        import torch
        from torch._dynamo.callback import callback_handler

        self._watched = operators
        original = torch.library.Library.impl

        @functools.wraps(original)
        def impl(
            library: Any, op_name: Any, fn: Callable[..., Any], dispatch_key: str = "", **options: Any
        ) -> Any:
            key = dispatch_key or library.dispatch_key
            name = _qualified(library, op_name)
            fallthrough = fn is torch.library.fallthrough_kernel
            if not fallthrough:
                self.functions[name, key] = fn
            if key in _KERNEL_KEYS and not fallthrough:
                fn = self._counted(name, fn)
            return original(library, op_name, fn, dispatch_key, **options)

        torch.library.Library.impl = impl
        callback_handler.register_start_callback(self._compile_starts)

    def watch(self, operator: str) -> None:
        """Watch one more operator, and listen again: `torch._dynamo.reset()` forgets who listens."""
        from torch._dynamo.callback import callback_handler

        self._watched.add(operator)
        if self._compile_starts not in callback_handler.start_callbacks:
            callback_handler.register_start_callback(self._compile_starts)

    def meta_function(self, name: str) -> Callable[..., Any] | None:
        """Find the Python function that computes an operator's Meta: a fake impl or a Meta kernel.

        For a custom_op it is the function that the user wrote: what `torch._library.custom_ops.CustomOpDef`
        (torch 2.13) registers around it takes `*args, **kwargs`, and is always there.
        """
        from torch._library.custom_ops import OPDEFS
        from torch._library.simple_registry import singleton

        if name in OPDEFS:
            return OPDEFS[name]._abstract_fn  # type: ignore[no-any-return]
        entry = singleton.find(name)
        if entry.fake_impl.kernel is not None:
            return entry.fake_impl.kernel.func  # type: ignore[no-any-return]
        return self.functions.get((name, "Meta"))

    def is_python_kernel(self, name: str) -> bool:
        """Tell whether the operator's NPU kernel is a Python function, whose calls are counted."""
        return any((name, key) in self.functions for key in _KERNEL_KEYS)

    def _counted(self, name: str, fn: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(fn)
        def kernel(*args: Any, **kwargs: Any) -> Any:
            self.kernel_calls[name] += 1
            return fn(*args, **kwargs)

        return kernel

    def _compile_starts(self, *_: object) -> None:
        for name in self._watched:
            if is_defined(name) and not has_meta(name):
                self.compiled_without_meta.add(name)


def _qualified(library: Any, op_name: Any) -> str:
    """Name an operator the way the dispatcher does, from what `Library.impl` accepts."""
    if not isinstance(op_name, str):
        schema = op_name._schema
        return str(schema.name) + (f".{schema.overload_name}" if schema.overload_name else "")
    return op_name if "::" in op_name else f"{library.ns}::{op_name}"


def is_defined(name: str) -> bool:
    """Tell whether the dispatcher knows the operator."""
    import torch

    base, _, overload = name.partition(".")
    try:
        torch._C._dispatch_find_schema_or_throw(base, overload)
    except RuntimeError:
        return False
    return True


def has_kernel(name: str, *keys: str) -> bool:
    """Tell whether the operator has a kernel registered under one of the dispatch keys themselves."""
    import torch

    return any(torch._C._dispatch_has_kernel_for_dispatch_key(name, key) for key in keys)


def has_meta(name: str) -> bool:
    """Tell whether fake tensors can run the operator: a Meta kernel, a fake impl or a composite kernel."""
    from torch._library.simple_registry import singleton

    entry = singleton.find(name)
    return entry.fake_impl.kernel is not None or has_kernel(
        name, "Meta", "CompositeImplicitAutograd", "CompositeExplicitAutograd"
    )


def graph_breaks(name: str) -> list[str]:
    """List the reasons of graph breaks so far that name the operator, as Dynamo's counter has them."""
    from torch._dynamo.utils import counters

    base = name.split(".")[0]
    spellings = (base, base.replace("::", "."))
    reasons = itertools.chain(counters["graph_break"], counters["unimplemented"])
    named = (str(reason) for reason in reasons if any(spelling in str(reason) for spelling in spellings))
    # What follows is general advice.
    return [" ".join(reason.partition("Explanation:")[0].split()) for reason in named]
