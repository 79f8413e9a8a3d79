"""Which operators have a Meta kernel, which have two, and which registrations belong to no operator."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from opkit.against.declared import Declarations, Declared
from opkit.against.registration import Found, Registration, exclusive
from opkit.model.diagnostic import Diagnostic, Severity
from opkit.shape.errors import nearest

STALE = "OPK226"
NO_META = "OPK227"
TWICE = "OPK228"
# As many names as a message holds; the count is always there.
_NAMED = 12


def check_coverage(
    declarations: Declarations, found: Iterable[Found], meta_elsewhere: set[str]
) -> Iterator[Diagnostic]:
    """Look at all files together; `meta_elsewhere` are operators with a Meta kernel in C++."""
    found = list(found)
    registrations = [r for f in found for r in f.registrations]
    defined = {name for f in found for name in f.defined}
    yield from _stale(declarations, registrations, defined)
    for operator, mark in (packet for f in found for packet in f.packets):
        namespace, _, name = operator.partition("::")
        # torch itself has a few operators that are called without an overload, such as aten::sym_size.
        if namespace != "aten" and declarations.find(namespace, name):
            message = (
                f"the converter of {operator} is for no overload, and torchair looks for one of an overload"
            )
            help = f"write torch.ops.{namespace}.{name}.default"
            yield Diagnostic(STALE, Severity.WARNING, message, mark, help, name)
    yield from _twice(declarations, [r for r in registrations if r.kind.is_meta])
    if meta_elsewhere or any(r.kind.is_meta for r in registrations):
        yield from _without_meta(declarations, registrations, meta_elsewhere)


def _stale(
    declarations: Declarations, registrations: list[Registration], defined: set[tuple[str, str]]
) -> Iterator[Diagnostic]:
    covered = {d.namespace for d in declarations.all} - {"", "aten"}
    covered |= {
        r.namespace for r in registrations if r.namespace != "aten" and declarations.find(r.namespace, r.name)
    }
    others: dict[str, list[Registration]] = {}
    seen: set[tuple[str, str]] = set()
    for r in registrations:
        if (r.namespace, r.name) in seen | defined or declarations.find(r.namespace, r.name):
            continue
        seen.add((r.namespace, r.name))
        base = r.name.partition(".")[0]
        siblings = [n for n in declarations.names(r.namespace) if n != r.name and n.partition(".")[0] == base]
        if siblings and r.namespace not in covered:
            message = f"a {r.kind.value} is registered for {r.namespace}::{r.name}; declared is {siblings[0]}"
            help = "register it for the overload: a name without one is that of another operator"
            yield Diagnostic(STALE, Severity.WARNING, message, r.mark, help, r.name)
            continue
        if r.namespace not in covered:
            others.setdefault(r.namespace, []).append(r)
            continue
        message = f"a {r.kind.value} is registered for {r.namespace}::{r.name}, which is not declared"
        help = nearest(r.name, declarations.names(r.namespace)) or "remove it, or declare the operator"
        yield Diagnostic(STALE, Severity.WARNING, message, r.mark, help, r.name)
    for namespace, group in others.items():
        count = f"{len(group)} registration{'s' * (len(group) != 1)}"
        names = _some([r.name for r in group])
        message = (
            f"not compared: {count} in the namespace {namespace} of operators not declared here: {names}"
        )
        help = "give the YAML file that declares them, too"
        yield Diagnostic(STALE, Severity.NOTE, message, group[0].mark, help)


def _some(names: list[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _twice(declarations: Declarations, metas: list[Registration]) -> Iterator[Diagnostic]:
    first: dict[tuple[str, str], Registration] = {}
    for r in metas:
        other = first.setdefault((r.namespace, r.name), r)
        if other is r or exclusive(other.branches, r.branches):
            continue
        same = other.source is r.source
        message = f"a second Meta kernel is registered for {r.namespace}::{r.name}"
        help = "remove one: the last one wins in recent torch, the second one raises in torch 2.7 and before"
        severity = Severity.ERROR if same else Severity.WARNING
        related = (("the first one", other.mark),)
        yield Diagnostic(TWICE, severity, message, r.mark, help, r.name, related)


def _without_meta(
    declarations: Declarations, registrations: list[Registration], elsewhere: set[str]
) -> Iterator[Diagnostic]:
    have = {r.name for r in registrations if r.kind.is_meta} | elsewhere
    missing: dict[str, Declared] = {}
    for declared in declarations.all:
        if declared.name not in have and _needs_meta(declared) and not declared.ignores(NO_META):
            missing.setdefault(declared.name, declared)
    if not missing:
        return
    first = next(iter(missing.values()))
    count = len(missing)
    what = (
        "1 operator that returns something has"
        if count == 1
        else f"{count} operators that return something have"
    )
    message = f"{what} no Meta kernel in the sources: {_some(list(missing))}"
    help = "`opkit gen` writes one from a rule: give the operators `meta: out: ...`"
    yield Diagnostic(NO_META, Severity.WARNING, message, first.op.schema.mark, help)


def _needs_meta(declared: Declared) -> bool:
    """Tell whether a graph takes the operator only with a Meta kernel that somebody has to write."""
    op = declared.op
    dispatch = dict(op.extra).get("dispatch")
    composite = isinstance(dispatch, dict) and any("Composite" in str(key) for key in dispatch)
    return op.section == "custom" and bool(declared.returns) and op.meta is None and not composite
