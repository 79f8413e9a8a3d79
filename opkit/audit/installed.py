"""Inside a worker: load what is audited, with every registration observed, and list its operators."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

from opkit.errors import OpkitError
from opkit.prove.watch import Watch

# The namespaces in which a package defines its own operators; others are found by what an import adds.
NAMESPACES = {"torch_npu": ("npu", "atb")}


def load(subject: str, watch: Watch) -> list[str]:
    """Import torch_npu and the subject: a namespace, a shared library, or a package; list its operators.

    The runtime must be loaded, torch not imported yet. Raises OpkitError when there is nothing to audit.
    """
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    if "torch_npu" in sys.modules:
        raise OpkitError("torch_npu was imported too early to observe what it registers", "report this")
    watch.install(set())
    import torch
    import torch_npu  # noqa: F401 - registers the NPU

    torch.npu.set_device(0)
    before = set(torch._C._dispatch_get_all_op_names())
    if subject in NAMESPACES:
        found = _of(before, NAMESPACES[subject])
    elif subject.endswith(".so"):
        found = _added(subject, before, lambda: torch.ops.load_library(str(Path(subject).resolve())))
    elif own := _of(before, (subject,)):
        found = own
    else:
        found = _added(subject, before, lambda: importlib.import_module(subject))
    if not found:
        raise OpkitError(
            f"{subject} has no operators", "name a namespace such as npu, a package, or a shared library"
        )
    return sorted(found)


def _of(names: set[str], namespaces: tuple[str, ...]) -> set[str]:
    return {name for name in names if name.split("::")[0] in namespaces}


def _added(subject: str, before: set[str], action: object) -> set[str]:
    import torch

    assert callable(action)
    try:
        action()
    except Exception as error:
        # torch only says that a library does not load; the cause says why.
        why = error.__cause__ or error.__context__ or error
        raise OpkitError(
            f"{subject} cannot be loaded: {why}", "check the name, and that it imports"
        ) from error
    return set(torch._C._dispatch_get_all_op_names()) - before
