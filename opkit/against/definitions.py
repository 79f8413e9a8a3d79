"""Where an operator is defined a second time in code: its schema in C++, its `mutates_args` in Python."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from opkit.against.cpp.libraries import CppRegistration
from opkit.against.declared import Declarations, Declared, finding, listed
from opkit.against.registration import Mutates
from opkit.model.diagnostic import Diagnostic, Mark, Severity
from opkit.model.registered import registered_schema
from opkit.model.schema import Default, OperatorSchema
from opkit.read.schema import parse_schema

SCHEMA = "OPK242"
MUTATES = "OPK244"

_NOWHERE = Mark("", 1, 1)


def check_definitions(
    declarations: Declarations, registrations: Iterable[CppRegistration]
) -> Iterator[Diagnostic]:
    """Report each `m.def("schema")` that says something else than the YAML does."""
    for r in registrations:
        candidates = declarations.find(r.namespace, r.name)
        if not r.is_definition or "(" not in r.schema or not candidates:
            continue
        schema, diagnostics = parse_schema(r.schema, r.mark)
        if schema is None:
            message = f"the schema of {r.namespace}::{r.name} is none: {diagnostics[0].message}"
            yield finding(SCHEMA, Severity.ERROR, candidates[0], message, r.mark, diagnostics[0].help)
            continue
        forms = [form for d in candidates for form in (d.op.schema, registered_schema(d.op))]
        # One declaration of several is for the torch version that the C++ is for.
        if not any(_plain(schema) == _plain(form) for form in forms):
            what = _difference(candidates[0].op.schema, schema)
            help = f"the YAML says {candidates[0].op.schema}"
            yield finding(SCHEMA, Severity.ERROR, candidates[0], what, r.mark, help)


def _plain(schema: OperatorSchema) -> OperatorSchema:
    """Leave out what does not matter: places, spellings of defaults, the namespace and names of results."""
    arguments = tuple(replace(a, mark=_NOWHERE, default=_default(a.default)) for a in schema.arguments)
    returns = tuple(replace(r, mark=_NOWHERE, name=None) for r in schema.returns)
    name = replace(schema.name, namespace="")
    return OperatorSchema(name, arguments, returns, _NOWHERE)


def _default(default: Default | None) -> Default | None:
    # 1 == 1.0 == True to Python.
    return default and Default(default.value, type(default.value).__name__)


def _difference(declared: OperatorSchema, defined: OperatorSchema) -> str:
    """Say the first thing that differs."""
    mine, theirs = _plain(declared), _plain(defined)
    for one, other, ours in zip(mine.arguments, theirs.arguments, zip(declared.arguments, defined.arguments)):
        if one != other:
            return f"the definition in C++ has `{ours[1]}` where the YAML has `{ours[0]}`"
    if len(mine.arguments) != len(theirs.arguments):
        longer = max(declared.arguments, defined.arguments, key=len)
        extra = longer[min(len(mine.arguments), len(theirs.arguments))]
        where = "C++" if longer is defined.arguments else "the YAML"
        return f"only the definition in {where} has `{extra}`"
    results = [f"({', '.join(map(str, schema.returns))})" for schema in (defined, declared)]
    return f"the definition in C++ returns {results[0]}, the YAML {results[1]}"


def check_mutates(declarations: Declarations, mutates: Iterable[Mutates]) -> Iterator[Diagnostic]:
    """Report each `mutates_args` that lists other arguments than the schema marks as written."""
    for found in mutates:
        candidates = declarations.find(found.namespace, found.name)
        if candidates and all(_written(d) != set(found.arguments) for d in candidates):
            declared = candidates[0]
            missing = sorted(_written(declared) - set(found.arguments))
            extra = sorted(set(found.arguments) - _written(declared))
            parts = [f"lacks {listed(missing)}, which the schema marks as written"] if missing else []
            parts += [f"lists {listed(extra)}, which the schema only reads"] if extra else []
            message = f"`mutates_args` {' and '.join(parts)}"
            names = ", ".join(f'"{a.name}"' for a in declared.op.schema.mutated)
            help = f"write mutates_args=[{names}], or mend the schema"
            yield finding(MUTATES, Severity.ERROR, declared, message, found.mark, help)


def _written(declared: Declared) -> set[str]:
    return {a.name for a in declared.op.schema.mutated}
