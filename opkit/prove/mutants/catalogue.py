"""All kinds of mutants."""

from __future__ import annotations

from collections.abc import Mapping

from opkit.prove.mutants import converter, meta_results, meta_source, prototype, schema
from opkit.prove.mutants.kind import Kind

KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for module in (meta_results, meta_source, schema, converter, prototype)
    for kind in module.KINDS
}
