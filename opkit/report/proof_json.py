"""A proof as JSON, for machines."""

from __future__ import annotations

import json

from opkit.prove.protocol import Proof


def render(proof: Proof) -> str:
    """Print `Proof.to_json()`, indented, keys in the documented order."""
    return json.dumps(proof.to_json(), indent=2, ensure_ascii=False) + "\n"
