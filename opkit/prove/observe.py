"""What a proof can see and do on this process's runtime; real CANN tells less, and has its own kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opkit.cann.load import ensure_runtime

if TYPE_CHECKING:
    from opkit.cann.library import Event, StandIn


def needs_kernels() -> bool:
    """Tell whether opkit has to say what an operator without a kernel, or its Ascend IR, computes.

    On real CANN both are installed, or the operator cannot run.
    """
    return ensure_runtime().kind == "stand-in"


def events() -> list[Event] | None:
    """Give what the device did since the last look, oldest first; None on real CANN, which does not tell."""
    if not needs_kernels():
        return None
    from opkit.cann.device import journal

    return journal()


def runtime_library() -> StandIn | None:
    """Give the stand-in of this process; None on real CANN."""
    if not needs_kernels():
        return None
    from opkit.cann.library import standin

    return standin()
