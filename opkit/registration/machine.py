"""What this process runs on, as rules see it. torch_npu must be imported."""

from __future__ import annotations

from functools import cache

from opkit.shape.environment import SOC_FAMILIES, soc_family
from opkit.shape.scope import Environment


@cache
def machine_environment() -> Environment:
    """Read the versions of torch and CANN and the SoC; what cannot be read is None.

    `torch.npu.get_device_name` gives the SoC's name, `torch_npu.npu.utils.get_cann_version` CANN's (2.13).
    """
    import torch
    import torch_npu

    soc = torch.npu.get_device_name(0) if torch.npu.is_available() else None
    cann_version = getattr(torch_npu.npu.utils, "get_cann_version", None)
    return Environment(torch.__version__, cann_version() if cann_version else None, soc)


def soc_at_least(family: str) -> bool:
    """Tell whether the SoC is of this product line or a later one: `soc >= "950"` for Python rules.

    Raises RuntimeError when the SoC is not known.
    """
    soc = machine_environment().soc_version
    found = soc_family(soc) if soc else None
    if found is None:
        raise RuntimeError(f"this rule depends on the SoC, and {soc!r} is none that opkit knows")
    return SOC_FAMILIES.index(found) >= SOC_FAMILIES.index(family)
