"""What the stand-in claims to be, from OPKIT_* variables, checked before a library reads them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

from opkit.cann.errors import StandInError

# Short names for the product lines, and every full name that native/device.cpp has a row for.
SOC_ALIASES = {
    "310P": "Ascend310P3",
    "910B": "Ascend910B2",
    "910_93": "Ascend910_9391",
    "950": "Ascend950DT_9581",
}
SOCS = (
    "Ascend310P1", "Ascend310P3", "Ascend910A", "Ascend910B1", "Ascend910B2", "Ascend910B2C", "Ascend910B3",
    "Ascend910B4", "Ascend910_9382", "Ascend910_9391", "Ascend910_9392", "Ascend950DT_9581",
    "Ascend950PR_9589",
)  # fmt: skip
DEFAULT_SOC = "Ascend910B2"


@dataclass(frozen=True)
class Settings:
    """The device that the stand-in shows to the process."""

    soc: str = DEFAULT_SOC
    devices: int = 1
    cann: str = "8.5.0"
    memory_gib: float = 32.0
    kernels: tuple[str, ...] = ()  # the user's own aclnn kernels, which can be launched too

    def environment(self) -> dict[str, str]:
        """Give the variables from which the native side reads these settings."""
        return {
            "OPKIT_SOC": self.soc,
            "OPKIT_DEVICES": str(self.devices),
            "OPKIT_CANN": self.cann,
            "OPKIT_DEVICE_MEMORY_GIB": f"{self.memory_gib:g}",
            "OPKIT_KERNELS": ",".join(self.kernels),
        }


def read_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """Read OPKIT_SOC, OPKIT_DEVICES, OPKIT_CANN, OPKIT_DEVICE_MEMORY_GIB and OPKIT_KERNELS.

    Raises:
        StandInError: a value cannot be what its variable stands for.
    """
    given = os.environ if environment is None else environment
    default = Settings()
    memory, gib = r"\d{1,5}(\.\d+)?", "a number of GiB"
    return Settings(
        full_soc_name(given.get("OPKIT_SOC") or default.soc),
        int(_number(given, "OPKIT_DEVICES", default.devices, r"[1-9]\d?", "a number from 1 to 99")),
        _version(given.get("OPKIT_CANN") or default.cann),
        _number(given, "OPKIT_DEVICE_MEMORY_GIB", default.memory_gib, memory, gib),
        _kernels(given.get("OPKIT_KERNELS") or ""),
    )


def full_soc_name(name: str) -> str:
    """Give the full name of a SoC from its short or full name.

    Raises:
        StandInError: the stand-in knows no such SoC.
    """
    full = SOC_ALIASES.get(name, name)
    if full not in SOCS:
        raise StandInError(
            f"the stand-in knows no SoC {name!r}",
            f"use one of {', '.join([*SOC_ALIASES, *SOCS])} (OPKIT_SOC or --soc)",
        )
    return full


def _number(environment: Mapping[str, str], name: str, default: float, pattern: str, what: str) -> float:
    text = environment.get(name)
    if not text:
        return default
    if not re.fullmatch(pattern, text) or float(text) <= 0:
        raise StandInError(f"{name} is {text!r}", f"it must be {what}")
    return float(text)


def _version(text: str) -> str:
    if not re.fullmatch(r"\d+\.\d+\.[0-9A-Za-z.]{1,40}", text):
        raise StandInError(f"OPKIT_CANN is {text!r}", "it must be a CANN version such as 8.5.0 or 8.3.RC1")
    return text


def _kernels(text: str) -> tuple[str, ...]:
    names = tuple(sorted({name.strip() for name in text.split(",") if name.strip()}))
    for name in names:
        if not re.fullmatch(r"aclnn[A-Za-z0-9_]+", name):
            raise StandInError(
                f"OPKIT_KERNELS names {name!r}", "it must be a list such as aclnnMyOp,aclnnMyOtherOp"
            )
    return names
