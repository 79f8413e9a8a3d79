"""The CANN toolkit that ASCEND_HOME_PATH names, as torch_npu checks it when it is imported."""

from __future__ import annotations

import os
from pathlib import Path

HOME, OPP = "ASCEND_HOME_PATH", "ASCEND_OPP_PATH"


def why_unusable() -> str:
    """Say why torch_npu would refuse the toolkit; empty if none is named or it is complete.

    These are the conditions of `_cann_package_check` in torch_npu 2.13.
    """
    if HOME not in os.environ:
        return ""
    home = os.environ[HOME]
    if not Path(home).is_dir() or not home:
        return f"{HOME} is {home!r}, and there is no such directory"
    if not os.environ.get(OPP) or not Path(os.environ[OPP]).is_dir():
        return f"{HOME} is {home!r}, but {OPP} names no directory"
    lacking = [name for name in ("runtime", "compiler") if not (Path(home) / name).exists()]
    return f"{HOME} is {home!r}, which has no {' and no '.join(lacking)}" if lacking else ""


def forget_unusable() -> None:
    """Take the name of an unusable toolkit out of this process: the stand-in needs none."""
    if why_unusable():
        del os.environ[HOME]
