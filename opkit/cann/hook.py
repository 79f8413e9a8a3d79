"""Makes torch_npu compute: installs aten kernels and the GE engine right after its import; calls what else
is to happen then."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from opkit.cann.toolkit import forget_unusable

_TARGET = "torch_npu"
_equipped = False
_after: list[Callable[[], None]] = []


def install_import_hook() -> None:
    """Has `equip` called after the import of torch_npu, or now. Calling it again is free."""
    forget_unusable()
    call_after_import(equip)


def call_after_import(function: Callable[[], None]) -> None:
    """Has a function called after the import of torch_npu, or now; the first given is called first."""
    if _TARGET in sys.modules:
        function()
        return
    if function not in _after:
        _after.append(function)
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def equip() -> None:
    """Installs what computes on the stand-in into this process, once. torch_npu must be imported."""
    global _equipped
    if _equipped:  # also while it is being equipped: the first use of the library comes back here
        return
    _equipped = True
    from opkit.cann.aten import install_aten_kernels
    from opkit.cann.ge_engine import engine
    from opkit.cann.npu_values import install_npu_values
    from opkit.cann.uncomputed import install_warnings

    install_aten_kernels()
    install_npu_values()
    install_warnings()
    engine()


class _Finder(importlib.abc.MetaPathFinder):
    """Finds torch_npu as Python would, and wraps its loader."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != _TARGET:
            return None
        # importlib.util.find_spec is also asked whether torch_npu is there at all: then no import follows, so
        # the finder stays and only steps aside for its own question.
        sys.meta_path.remove(self)
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            sys.meta_path.insert(0, self)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


class _Loader(importlib.abc.Loader):
    """The real loader, with what was asked for after it."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        created: ModuleType | None = self._loader.create_module(spec)
        return created

    def exec_module(self, module: ModuleType) -> None:
        # The module must not know of the wrapper: inspect and pkgutil ask its loader for sources.
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        for function in tuple(_after):
            function()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)
