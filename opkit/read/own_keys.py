"""The keys of an entry that are opkit's own."""

from __future__ import annotations

from dataclasses import replace

import yaml

from opkit.model.operator import EntryPoint, OpSpec
from opkit.model.schema import OperatorSchema
from opkit.read.cases import read_cases
from opkit.read.contract import read_contract
from opkit.read.document import Document, is_null
from opkit.read.meta import read_entry_point, read_ge, read_meta


def add_own_keys(
    document: Document,
    items: dict[str, tuple[yaml.Node, yaml.Node]],
    schema: OperatorSchema | None,
    spec: OpSpec | None,
) -> OpSpec | None:
    """Read `meta`, `ge`, `reference`, `kernel`, `enters`, `known_failures` and `cases` into the operator.

    All but `cases` are checked for an operator whose schema cannot be read, too.
    """

    def value(key: str) -> yaml.Node | None:
        return items[key][1] if key in items and not is_null(items[key][1]) else None

    def entry_point(key: str) -> EntryPoint | None:
        return read_entry_point(document, node, key) if (node := value(key)) else None

    meta = read_meta(document, node, schema, "gen_opapi" in items) if (node := value("meta")) else None
    ge = read_ge(document, node) if (node := value("ge")) else None
    reference, kernel = entry_point("reference"), entry_point("kernel")
    contract = read_contract(document, items.get("enters"), items.get("known_failures"))
    if spec is None or schema is None:
        return None
    cases = read_cases(document, node, schema) if (node := value("cases")) else ()
    return replace(spec, meta=meta, ge=ge, reference=reference, kernel=kernel, contract=contract, cases=cases)
