"""The installed torch and torch_npu wheels, read from their metadata: nothing here imports torch."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from opkit.cann.errors import WheelError

TESTED = "2.13.0"  # the torch, and torch_npu, that CI proves on


@dataclass(frozen=True)
class Wheel:
    """One installed distribution: its version, and the directory of its package."""

    name: str
    version: str
    directory: Path
    requires: tuple[str, ...] = ()


@dataclass(frozen=True)
class Wheels:
    """A torch and the torch_npu that belongs to it."""

    torch: Wheel
    torch_npu: Wheel


def find_wheel(name: str) -> Wheel | None:
    """Find an installed distribution by name; None if it is not installed."""
    try:
        distribution = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return None
    directory = Path(str(distribution.locate_file(name))).resolve()
    return Wheel(name, distribution.version, directory, tuple(distribution.requires or ()))


def find_wheels() -> Wheels:
    """Find torch and torch_npu.

    Raises:
        WheelError: one is not installed, or they do not belong together.
    """
    torch_npu = find_wheel("torch_npu")
    torch = find_wheel("torch")
    if torch_npu is None:
        raise WheelError("torch_npu is not installed", install_pair())
    if torch is None:
        raise WheelError("torch is not installed", install_pair())
    check_match(torch, torch_npu)
    return Wheels(torch, torch_npu)


def wanted_torch(torch_npu: Wheel) -> str:
    """Say which torch a torch_npu needs: what its metadata pins, else the same first three numbers."""
    for requirement in torch_npu.requires:
        pinned = re.match(r"torch\s*\(?==\s*(\d+(?:\.\d+)*)", requirement)
        if pinned:
            return pinned.group(1)
    return ".".join(_release(torch_npu.version)[:3])


def check_match(torch: Wheel, torch_npu: Wheel) -> None:
    """Check that the two wheels belong together: torch_npu is built for one minor release of torch.

    Raises:
        WheelError: they do not.
    """
    wanted = wanted_torch(torch_npu)
    if _release(torch.version)[:2] != _release(wanted)[:2]:
        raise WheelError(
            f"torch_npu {torch_npu.version} needs torch {wanted}, but torch {torch.version} is installed",
            f"{install_torch(wanted)}, or install the torch_npu of torch {torch.version.split('+')[0]}",
        )


def install_pair() -> str:
    """Give the commands that install what is missing of torch and torch_npu, the two of one version.

    torch comes first and by its version: left to pip, it is the newest one, and a build for CUDA.
    """
    torch, torch_npu = find_wheel("torch"), find_wheel("torch_npu")
    if torch_npu is not None:
        version, npu_version = wanted_torch(torch_npu), torch_npu.version.split("+")[0]
    else:
        version = npu_version = ".".join(_release(torch.version)[:3]) if torch else TESTED
    then = f"pip install torch_npu=={npu_version} 'opkit[npu]'"
    return then if torch else f"{install_torch(version)}, then {then}"


def install_torch(version: str) -> str:
    """Give the command that installs the CPU build of a torch."""
    return f"pip install torch=={version} --index-url https://download.pytorch.org/whl/cpu"


def _release(version: str) -> list[str]:
    return re.findall(r"\d+", re.split(r"[+-]|\.?(?:post|rc|dev|a|b)", version)[0])
