"""Random numbers on the stand-in: the state of an NPU generator, the numbers of the CPU's.

The numbers differ from those of a device. What holds is what programs rely on: the same seed gives the same
numbers, saved states can be set again, and each replay of a captured graph draws new ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

_STEP = 4  # a Philox offset moves in steps of four


def host_generator(generator: torch.Generator | None, place: torch.device) -> torch.Generator:
    """A CPU generator for one draw from `generator`, or the device's default one, which moves on."""
    import torch

    if generator is not None and generator.device.type == "cpu":
        return generator
    if generator is None:
        torch.npu.init()
        generator = torch.npu.default_generators[place.index or 0]
    offset = generator.get_offset()
    generator.set_offset(offset + _STEP)
    host = torch.Generator(device="cpu")
    host.manual_seed((generator.initial_seed() * 0x9E3779B97F4A7C15 + offset) % (1 << 63))
    return host


def is_generator(value: Any) -> bool:
    """Whether an argument is a random number generator."""
    import torch

    return isinstance(value, torch.Generator)
