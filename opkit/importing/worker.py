"""The worker process of `opkit import torch.ops.NS`: `python -m opkit.importing.worker REQUEST RESULT`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from opkit.errors import OpkitError


def main(request_file: str, result_file: str) -> int:
    """List the schemas. Returns 1 when that cannot be done."""
    request = json.loads(Path(request_file).read_text(encoding="utf-8"))
    event: dict[str, object]
    try:
        event = {"event": "schemas", "schemas": _schemas(request["namespace"], request["load"])}
    except OpkitError as error:
        event = {"event": "error", "message": error.message, "help": error.help}
    Path(result_file).write_text(json.dumps(event) + "\n", encoding="utf-8")
    return int(event["event"] == "error")


def _schemas(namespace: str, names: Sequence[str]) -> list[str]:
    from opkit.cann.load import ensure_runtime
    from opkit.cann.operators import find_operator

    ensure_runtime()
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    import torch
    import torch_npu  # noqa: F401 - defines its operators

    for name in names:
        _load(name)
    registered: list[str] = torch._C._dispatch_get_all_op_names()
    found = sorted(name for name in registered if name.split("::")[0] == namespace)
    if not found:
        raise OpkitError(
            f"torch.ops.{namespace} has no operators", "load what defines them: --load lib.so, or a module"
        )
    return [str(find_operator(name)._schema) for name in found]


def _load(name: str) -> None:
    import torch

    from opkit.prove.entry import load_module

    try:
        if name.endswith(".so"):
            torch.ops.load_library(name)
        else:
            load_module(name)
    except Exception as error:  # whatever the user's code raises
        why = error.__cause__ or error.__context__ or error
        raise OpkitError(f"{name} cannot be loaded: {why}", "check the name, and that it imports") from error


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
