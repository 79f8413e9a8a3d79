"""What this machine has for running opkit's proofs: the findings of `opkit doctor`."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from opkit.cann import build, cache, load, settings, toolkit, wheels
from opkit.errors import OpkitError

# What torchair and npugraph_ex import and the torch_npu wheel does not declare.
UNDECLARED = ("protobuf", "packaging", "numpy", "attrs", "decorator", "psutil", "scipy", "ml_dtypes")
_NEEDED = ("protobuf", "packaging", "numpy")


@dataclass(frozen=True)
class Finding:
    """One line of the report; `status` is "ok", "note" (nothing to do) or "missing" (mend it with `fix`)."""

    name: str
    status: str
    value: str
    fix: str = ""


def inspect_machine() -> list[Finding]:
    """Look at everything that running operators needs, without a build and without importing torch."""
    looks = (_python, _torch, _torch_npu, _versions, _runtime, _toolkit, _soc, _compiler, _cache, _packages)
    return [finding for look in looks for finding in _guarded(look)]


def _guarded(look: Callable[[], list[Finding]]) -> list[Finding]:
    try:
        return look()
    except OpkitError as error:
        return [Finding(look.__name__.strip("_").replace("_", " "), "missing", error.message, error.help)]


def _python() -> list[Finding]:
    return [Finding("python", "ok", f"{platform.python_version()} ({sys.executable}, {platform.machine()})")]


def _torch() -> list[Finding]:
    found = wheels.find_wheel("torch")
    if found:
        return [Finding("torch", "ok", found.version)]
    return [Finding("torch", "missing", "not installed", wheels.install_pair())]


def _torch_npu() -> list[Finding]:
    found = wheels.find_wheel("torch_npu")
    if found:
        return [Finding("torch_npu", "ok", found.version)]
    return [Finding("torch_npu", "missing", "not installed", wheels.install_pair())]


def _versions() -> list[Finding]:
    torch, torch_npu = wheels.find_wheel("torch"), wheels.find_wheel("torch_npu")
    if not torch or not torch_npu:
        return []
    wheels.check_match(torch, torch_npu)
    wanted = wheels.wanted_torch(torch_npu)
    tested = wheels.TESTED.rpartition(".")[0]
    value = f"torch_npu {torch_npu.version} is built for torch {wanted}; opkit is tested on {tested}"
    if torch.version.startswith(f"{tested}."):
        return [Finding("versions", "ok", value)]
    return [Finding("versions", "note", f"{value}, others may differ")]


def _runtime() -> list[Finding]:
    cann = load.find_cann()
    if not load.choose_stand_in():
        return [Finding("runtime", "ok", f"CANN in {cann}")]
    asked = " (OPKIT_STAND_IN)" if os.environ.get("OPKIT_STAND_IN") == "1" else ""
    why = f"CANN in {cann}, but no NPU device" if cann and not load.has_device() else "no CANN here"
    return [Finding("runtime", "ok", f"stand-in{asked or f': {why}'}")]


def _toolkit() -> list[Finding]:
    wrong = toolkit.why_unusable()
    if not wrong:
        return []
    status, outcome = ("note", "the stand-in goes without it") if load.choose_stand_in() else ("missing", "")
    fix = f"source the set_env.sh of CANN's toolkit, or: unset {toolkit.HOME}"
    return [Finding("toolkit", status, f"{wrong}{f'; {outcome}' if outcome else ''}", fix)]


def _soc() -> list[Finding]:
    if not load.choose_stand_in():
        return []
    found = settings.read_settings()
    return [
        Finding(
            "soc",
            "ok",
            f"{found.soc}, {found.devices} device(s) of {found.memory_gib:g} GiB, CANN {found.cann}",
        )
    ]


def _compiler() -> list[Finding]:
    if not load.choose_stand_in():
        return []
    compiler = build.find_compiler()
    if compiler:
        return [Finding("compiler", "ok", compiler)]
    status = "note" if _built() else "missing"
    value = "none, but the stand-in is built already" if _built() else "no C++ compiler"
    return [Finding("compiler", status, value, build.compiler_help())]


def _built() -> bool:
    try:
        return build.find_build(wheels.find_wheels(), settings.read_settings().kernels) is not None
    except OpkitError:
        return False


def _cache() -> list[Finding]:
    if not load.choose_stand_in():
        return []
    root = build.cache_root()
    cache.require_private(root)
    writable = _writable(root)
    if not writable and not _built():
        return [Finding("cache", "missing", f"{root} cannot be written", "export OPKIT_CACHE_DIR=DIRECTORY")]
    state = "stand-in built" if _built() else "stand-in not built yet, the first use takes about ten seconds"
    return [Finding("cache", "ok", f"{root} ({state})")]


def _writable(path: Path) -> bool:
    existing = next(parent for parent in (path, *path.parents) if parent.exists())
    return existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)


def _packages() -> list[Finding]:
    absent = [name for name in UNDECLARED if not _installed(name)]
    if not absent:
        return [Finding("torchair needs", "ok", "all of " + ", ".join(UNDECLARED))]
    needed = any(name in _NEEDED for name in absent)
    return [
        Finding(
            "torchair needs", "missing" if needed else "note", f"not installed: {', '.join(absent)}",
            f"pip install {' '.join(absent)}",
        )
    ]  # fmt: skip


def _installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True
