"""`opkit.register` as soon as torch_npu is imported: of this process, or of those that `opkit run` starts."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

from opkit.errors import OpkitError

VARIABLE = "OPKIT_REGISTER"


def checked(what: Iterable[str], base: Path) -> tuple[str, ...]:
    """Give what `opkit.register` is to be called with: names of packages, and absolute paths of files.

    Raises OpkitError for what is neither.
    """
    from opkit.shipped import shipped_packages

    found = []
    for name in what:
        if name in shipped_packages():
            found.append(name)
        elif (base / name).is_file():
            found.append(str((base / name).resolve()))
        else:
            known = ", ".join(shipped_packages())
            raise OpkitError(
                f"there are no rules to register: {name}", f"name a YAML file, or one of: {known}"
            )
    return tuple(dict.fromkeys(found))


def environment(what: Sequence[str], replace: bool) -> dict[str, str]:
    """Give the variables with which a child process, and what it starts, registers what `checked` gave."""
    from opkit.cann.load import python_path

    return {VARIABLE: json.dumps({"what": list(what), "replace": replace}), "PYTHONPATH": python_path()}


def register_after_import(what: Sequence[str], replace: bool = False) -> None:
    """Have it registered in this process once torch_npu is imported, or now if it is."""
    from opkit.cann.hook import call_after_import

    for name in what:
        call_after_import(partial(_register, name, replace))


def register_as_environment_says() -> None:
    """Do in a new process what `environment` asks for; nothing where it asks for nothing."""
    if VARIABLE in os.environ:
        asked = json.loads(os.environ[VARIABLE])
        register_after_import(asked["what"], asked["replace"])


def _register(name: str, replace: bool) -> None:
    # Processes that never import torch_npu need none of this.
    from opkit.registration.package import register

    register(name, replace=replace)
