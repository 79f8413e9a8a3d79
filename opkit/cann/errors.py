"""Errors of the stand-in that a user can mend."""

from __future__ import annotations

from opkit.errors import OpkitError


class StandInError(OpkitError):
    """The stand-in cannot be built, loaded or used; `help` says what to do."""


class BuildError(StandInError):
    """The system compiler refused the stand-in's sources, or there is none."""


class WheelError(StandInError):
    """torch or torch_npu is missing, or the two do not belong together."""
