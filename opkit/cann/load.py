"""Decide which runtime this process uses, CANN or the stand-in, and load it before torch."""

from __future__ import annotations

import ctypes
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from opkit.cann.build import CORE, MANIFEST, library_directory
from opkit.cann.errors import StandInError
from opkit.cann.wheels import Wheels, find_wheels

DEFAULT_SOC = "Ascend910B2"
SOC_ALIASES = {"310P": "Ascend310P3", "910B": "Ascend910B2", "910_93": "Ascend910_9391", "950": "Ascend950"}
# Kernels run where they are submitted: the capture rules then apply to the thread that breaks them.
_SETTINGS = {"TASK_QUEUE_ENABLE": "0"}


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
    """Find the directory of a real libascendcl.so where the dynamic linker or CANN's own variables point; else None."""
    directories = [Path(entry) for entry in os.environ.get("LD_LIBRARY_PATH", "").split(":") if entry]
    for variable in ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"):
        if os.environ.get(variable):
            directories += [Path(os.environ[variable]) / "lib64", Path(os.environ[variable]) / "runtime" / "lib64"]
    for directory in directories:
        if (directory / "libascendcl.so").exists() and not (directory / CORE).exists():
            return directory
    return None


def has_device() -> bool:
    """Say whether the NPU driver shows a device: a CANN toolkit without one can compile, but run nothing."""
    return any(Path("/dev").glob("davinci[0-9]*"))


def choose_stand_in(stand_in: bool | None = None) -> bool:
    """Say whether the stand-in is to be used: when asked for (argument or OPKIT_STAND_IN), else where CANN cannot run."""
    if stand_in is None and os.environ.get("OPKIT_STAND_IN"):
        stand_in = os.environ["OPKIT_STAND_IN"] != "0"
    if stand_in is None:
        return find_cann() is None or not has_device()
    if not stand_in and find_cann() is None:
        raise StandInError("CANN is not installed here", "source CANN's set_env.sh, or leave out --no-stand-in")
    return stand_in


def soc_name() -> str:
    """Give the SoC that the stand-in claims to be: $OPKIT_SOC (full or short), else Ascend910B2."""
    asked = os.environ.get("OPKIT_SOC") or DEFAULT_SOC
    return SOC_ALIASES.get(asked, asked)


def runtime_environment(stand_in: bool | None = None) -> dict[str, str]:
    """Give the variables with which a child process has the runtime, so that `import torch` works there.

    Raises:
        WheelError, BuildError: see `find_wheels` and `library_directory`.
    """
    wheels = find_wheels()
    if not choose_stand_in(stand_in):
        return {}
    return _environment(library_directory(wheels))


def _environment(directory: Path) -> dict[str, str]:
    rest = [entry for entry in os.environ.get("LD_LIBRARY_PATH", "").split(":") if entry and entry != str(directory)]
    return {"LD_LIBRARY_PATH": ":".join([str(directory), *rest]), "OPKIT_STAND_IN": "1", **_SETTINGS}


def ensure_runtime(stand_in: bool | None = None) -> Runtime:
    """Give this process its runtime: real CANN if it can run here, else the stand-in, loaded before torch.

    Raises:
        WheelError, BuildError: see `find_wheels` and `library_directory`.
        StandInError: torch_npu is imported already, or another runtime was chosen before.
    """
    global _loaded
    if _loaded is not None:
        if stand_in is not None and stand_in != (_loaded.kind == "stand-in"):
            raise StandInError(f"this process runs on {_loaded.kind} already", "use a process for each runtime")
        return _loaded
    wheels = find_wheels()
    if choose_stand_in(stand_in):
        _loaded = _load_stand_in(wheels)
    else:
        _loaded = Runtime("cann", find_cann() or Path(), "", wheels.torch.version, wheels.torch_npu.version)
    return _loaded


def _load_stand_in(wheels: Wheels) -> Runtime:
    directory = library_directory(wheels)
    # Under `opkit run` torch finds the libraries by itself, and may have been imported first.
    if "torch_npu" in sys.modules and not _is_mapped(directory / CORE):
        raise StandInError(
            "torch_npu was imported before the stand-in was loaded",
            "call ensure_runtime() first, or start the program with `opkit run`",
        )
    os.environ.update(_environment(directory))
    for library in json.loads((directory / MANIFEST).read_text())["libraries"]:
        ctypes.CDLL(str(directory / library), ctypes.RTLD_GLOBAL)
    return Runtime("stand-in", directory, soc_name(), wheels.torch.version, wheels.torch_npu.version)


def _is_mapped(library: Path) -> bool:
    return str(library) in Path("/proc/self/maps").read_text()
