"""Decide which runtime this process uses, CANN or the stand-in, and load it before torch."""

from __future__ import annotations

import ctypes
import json
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from opkit.cann.build import CORE, MANIFEST, library_directory
from opkit.cann.errors import StandInError
from opkit.cann.hook import install_import_hook
from opkit.cann.settings import Settings, full_soc_name, read_settings
from opkit.cann.toolkit import forget_unusable
from opkit.cann.wheels import Wheels, find_wheels

_BOOTSTRAP = Path(__file__).parent / "bootstrap"
# TASK_QUEUE_ENABLE=0: host code calls the runtime on the thread that called torch, so that a call which a
# capture forbids fails where it stands.
_FIXED = {"OPKIT_STAND_IN": "1", "TASK_QUEUE_ENABLE": "0"}
VARIABLES = (
    *_FIXED,
    *Settings().environment(),
)  # what a process on the stand-in gets, besides LD_LIBRARY_PATH and PYTHONPATH


@dataclass(frozen=True)
class Runtime:
    """The runtime of a process: "cann" or "stand-in", and what it claims to be."""

    kind: str
    library_dir: Path
    soc: str  # empty if only the device can say
    torch: str
    torch_npu: str


_loaded: Runtime | None = None


def find_cann() -> Path | None:
    """Find a real libascendcl.so where LD_LIBRARY_PATH or CANN's own variables point: its directory or
    None."""
    entries = [entry for entry in os.environ.get("LD_LIBRARY_PATH", "").split(":") if entry]
    ours = stand_in_directories(entries)
    directories = [Path(entry) for entry in entries if entry not in ours]
    for variable in ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"):
        if os.environ.get(variable):
            directories.append(Path(os.environ[variable]) / "lib64")
    return next((path for path in directories if (path / "libascendcl.so").exists()), None)


def stand_in_directories(entries: Iterable[str]) -> list[str]:
    """Give those of some library directories that hold the stand-in."""
    return [entry for entry in entries if (Path(entry) / CORE).exists()]


def has_device() -> bool:
    """Say whether the NPU driver shows a device: a CANN toolkit without one can compile, but run nothing."""
    return any(Path("/dev").glob("davinci[0-9]*"))


def choose_stand_in(stand_in: bool | None = None) -> bool:
    """Say whether to use the stand-in: as asked (argument, OPKIT_STAND_IN), else where CANN cannot run.

    Raises:
        StandInError: CANN is asked for and not installed.
    """
    if stand_in is None and os.environ.get("OPKIT_STAND_IN"):
        stand_in = os.environ["OPKIT_STAND_IN"] != "0"
    if stand_in is None:
        return find_cann() is None or not has_device()
    if not stand_in and find_cann() is None:
        raise StandInError(
            "CANN is asked for, but it is not installed here", "source the set_env.sh of CANN's toolkit"
        )
    return stand_in


def runtime_environment(stand_in: bool | None = None, soc: str | None = None) -> dict[str, str]:
    """Give the variables with which a child process has the runtime, so that `import torch` works there.

    Raises:
        WheelError, BuildError: see `find_wheels` and `library_directory`.
        StandInError: see `choose_stand_in` and `read_settings`.
    """
    settings = read_settings() if soc is None else replace(read_settings(), soc=full_soc_name(soc))
    wheels = find_wheels()
    if not choose_stand_in(stand_in):
        return {}
    return _environment(library_directory(wheels, settings.kernels), settings)


def _environment(directory: Path, settings: Settings) -> dict[str, str]:
    entries = [entry for entry in os.environ.get("LD_LIBRARY_PATH", "").split(":") if entry]
    others = stand_in_directories(entries)
    path = [str(directory), *(entry for entry in entries if entry not in others)]
    return {
        "LD_LIBRARY_PATH": ":".join(path),
        "PYTHONPATH": python_path(),
        **_FIXED,
        **settings.environment(),
    }


def python_path() -> str:
    """PYTHONPATH with the directory of a sitecustomize.py in front: what it does, the other variables say."""
    entries = [entry for entry in os.environ.get("PYTHONPATH", "").split(":") if entry]
    others = bootstrap_directories(entries)
    return ":".join([str(_BOOTSTRAP), *(entry for entry in entries if entry not in others)])


def bootstrap_directories(entries: Iterable[str]) -> list[str]:
    """Give those entries of PYTHONPATH that an opkit has put there."""
    return [entry for entry in entries if entry == str(_BOOTSTRAP)]


def ensure_runtime(stand_in: bool | None = None, *, computes: bool = True) -> Runtime:
    """Give this process its runtime: real CANN if it can run here, else the stand-in, loaded before torch.

    Without `computes`, torch_npu keeps its own kernels for aten operators on the stand-in: their host code is
    what runs, and no value is computed.

    Raises:
        WheelError, BuildError: see `find_wheels` and `library_directory`.
        StandInError: torch_npu is imported already, or another runtime was chosen before.
    """
    global _loaded
    if _loaded is not None:
        if stand_in is not None and stand_in != (_loaded.kind == "stand-in"):
            raise StandInError(
                f"this process runs on {_loaded.kind} already", "use a process for each runtime"
            )
        return _loaded
    wheels = find_wheels()
    if choose_stand_in(stand_in):
        _loaded = _load_stand_in(wheels)
        if computes:
            install_import_hook()
    else:
        _loaded = Runtime("cann", find_cann() or Path(), "", wheels.torch.version, wheels.torch_npu.version)
    return _loaded


def _load_stand_in(wheels: Wheels) -> Runtime:
    settings = read_settings()
    directory = library_directory(wheels, settings.kernels)
    mapped = Path("/proc/self/maps").read_text()
    # Under `opkit run` torch finds the libraries by itself, and may have been imported first.
    if str(directory / CORE) not in mapped and ("torch_npu" in sys.modules or "/libascendcl.so" in mapped):
        raise StandInError(
            "torch_npu was imported before the stand-in was loaded",
            "call opkit.cann.load.ensure_runtime() first, or start the program with `opkit run`",
        )
    os.environ.update(_environment(directory, settings))
    forget_unusable()
    for library in json.loads((directory / MANIFEST).read_text())["libraries"]:
        ctypes.CDLL(str(directory / library), ctypes.RTLD_GLOBAL)
    return Runtime("stand-in", directory, settings.soc, wheels.torch.version, wheels.torch_npu.version)
