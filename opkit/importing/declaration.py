"""The schemas that were found, and the YAML that declares them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import yaml

from opkit.model.diagnostic import Diagnostic, Mark, Severity
from opkit.model.schema import OperatorSchema

UNREAD = "OPK220"
TWICE = "OPK009"


@dataclass
class Imported:
    """What was found so far, in its order; an operator is kept once."""

    schemas: dict[str, OperatorSchema] = field(default_factory=dict)
    diagnostics: list[Diagnostic] = field(default_factory=list)

    def add(self, schema: OperatorSchema, namespace: str) -> None:
        """Take a schema that is defined in `namespace`; a second one of its name must be equal."""
        schema = replace(schema, name=replace(schema.name, namespace=namespace))
        name = schema.name.qualified
        first = self.schemas.setdefault(name, schema)
        if func(first) != func(schema):
            message = f"{name} is defined twice, differently; the first definition is imported"
            help = "keep the one that is built, or import it from torch.ops"
            related = (("the first one", first.mark),)
            self.diagnostics.append(
                Diagnostic(TWICE, Severity.WARNING, message, schema.mark, help, name, related)
            )

    def unread(self, severity: Severity, message: str, mark: Mark, help: str) -> None:
        """Report a definition that gives no schema."""
        self.diagnostics.append(Diagnostic(UNREAD, severity, message, mark, help))

    def to_yaml(self) -> str:
        """Write the declaration file."""
        entries = [
            # One line each, quoted only where YAML wants it.
            "- " + yaml.safe_dump({"func": func(schema)}, width=float("inf"), allow_unicode=True)
            for schema in self.schemas.values()
        ]
        return "custom:\n" + "".join(entries)


def func(schema: OperatorSchema) -> str:
    """Give the canonical text of a schema, its namespace in front."""
    text = str(replace(schema, name=replace(schema.name, namespace="")))
    return f"{schema.name.namespace}::{text}" if schema.name.namespace else text
