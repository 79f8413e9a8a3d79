"""A proof as JSON, for machines."""

from __future__ import annotations

import json

from opkit.prove.plan import InvalidDeclaration
from opkit.prove.protocol import SCHEMA_VERSION, Proof
from opkit.report import diagnostics


def render(proof: Proof) -> str:
    """Print `Proof.to_json()`, indented, keys in the documented order."""
    return json.dumps(proof.to_json(), indent=2, ensure_ascii=False) + "\n"


def render_error(error: Exception) -> str:
    """Print why there is no proof: `error` has a message, a help and the findings about the YAML."""
    found = error.diagnostics if isinstance(error, InvalidDeclaration) else ()
    value = {
        "message": getattr(error, "message", str(error)),
        "help": getattr(error, "help", ""),
        "findings": json.loads(diagnostics.render(found, "json")),
    }
    return json.dumps({"schema_version": SCHEMA_VERSION, "error": value}, indent=2, ensure_ascii=False) + "\n"
