"""Lists the schemas that a namespace has in the dispatcher, in a process of its own."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from opkit.errors import OpkitError
from opkit.importing.declaration import Imported
from opkit.model.diagnostic import Mark
from opkit.processes import run_worker
from opkit.read import parse_schema


def import_registered(namespace: str, load: Sequence[str] = (), timeout: float = 120.0) -> Imported:
    """Read the schemas of `torch.ops.<namespace>` once torch_npu and `load` are loaded, sorted by name.

    Raises OpkitError when something cannot be loaded or the namespace has no operator.
    """
    schemas: list[str] = []
    errors: list[OpkitError] = []

    def take(event: Mapping[str, Any]) -> None:
        if event["event"] == "error":
            errors.append(OpkitError(event["message"], event["help"]))
        else:
            schemas.extend(event["schemas"])

    # The worker has a directory of its own.
    places = [os.path.abspath(name) if os.path.exists(name) else name for name in load]
    request = {"namespace": namespace, "load": places}
    ending = run_worker("opkit.importing.worker", request, take, timeout)
    if errors:
        raise errors[0]
    if ending:
        raise OpkitError("the process that lists the operators died", ending)
    imported = Imported()
    for text in schemas:
        mark = Mark(f"torch.ops.{text.partition('(')[0].replace('::', '.')}", 1, 1)
        schema, diagnostics = parse_schema(text, mark)
        imported.diagnostics += diagnostics
        if schema is not None:
            imported.add(schema, namespace)
    return imported
