"""C++ sources: what libraries define and register, what kernels do to arguments, sizes in Meta kernels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from opkit.against.cpp.functions import find_functions
from opkit.against.cpp.kernels import check_kernels
from opkit.against.cpp.libraries import CppRegistration, find_registrations
from opkit.against.cpp.source import CppSource
from opkit.against.cpp.symbolic import check_symbolic
from opkit.against.cpp.waiting import check_waiting
from opkit.against.declared import Declarations
from opkit.against.definitions import check_definitions
from opkit.against.registration import exclusive
from opkit.model.diagnostic import Diagnostic, Severity
from opkit.shape.errors import nearest

STALE = "OPK226"
NO_META = "OPK227"
TWICE = "OPK228"


def check_cpp(
    declarations: Declarations, texts: Iterable[tuple[str, str]]
) -> tuple[list[Diagnostic], set[str]]:
    """Check files given as (path, text); also give the operators that have a Meta kernel in them."""
    functions = [f for path, text in texts for f in find_functions(CppSource(path, text))]
    registrations = list(find_registrations(functions))
    metas = [r for r in registrations if r.key == "Meta"]
    kernels = [r for r in registrations if r.key == "PrivateUse1"]
    findings = [
        *_check_names(declarations, registrations),
        *_check_twice(metas),
        *_check_definitions(declarations, registrations),
        *check_definitions(declarations, registrations),
        *check_kernels(declarations, functions, registrations),
        *check_symbolic(
            [*functions, *(r.kernel for r in metas if r.kernel)],
            {r.kernel.name if r.kernel else r.function for r in metas if r.kernel or r.function},
        ),
        *check_waiting(
            [*functions, *(r.kernel for r in kernels if r.kernel)],
            {r.kernel.name if r.kernel else r.function for r in kernels if r.kernel or r.function},
        ),
    ]
    return findings, {r.name for r in metas}


def _check_names(declarations: Declarations, registrations: list[CppRegistration]) -> Iterator[Diagnostic]:
    """Report `impl` of names that are not defined: C++ accepts them without a word."""
    defined = {(r.namespace, r.name) for r in registrations if r.is_definition}
    covered = {r.namespace for r in registrations if declarations.find(r.namespace, r.name)}
    whole = {r.namespace for r in registrations if r.is_definition and r.is_whole}
    for r in registrations:
        if r.is_definition or (r.namespace, r.name) in defined or declarations.find(r.namespace, r.name):
            continue
        names = [name for namespace, name in defined if namespace == r.namespace]
        if not names and r.namespace in covered:
            names = list(declarations.names(r.namespace))
        if not names:
            continue  # this namespace is defined in files that are not given
        message = f"a {r.key} kernel is registered for {r.namespace}::{r.name}, which is not defined"
        help = nearest(r.name, names) or "remove it, or define the operator"
        severity = Severity.ERROR if r.namespace in whole else Severity.WARNING
        yield Diagnostic(STALE, severity, message, r.mark, help, r.name)


def _check_twice(metas: list[CppRegistration]) -> Iterator[Diagnostic]:
    first: dict[tuple[str, str], CppRegistration] = {}
    for r in metas:
        other = first.setdefault((r.namespace, r.name), r)
        if other is r or exclusive(other.branches, r.branches):
            continue
        message = f"a second Meta kernel is registered for {r.namespace}::{r.name}"
        related = (("the first one", other.mark),)
        yield Diagnostic(TWICE, Severity.ERROR, message, r.mark, "remove one", r.name, related)


def _check_definitions(
    declarations: Declarations, registrations: list[CppRegistration]
) -> Iterator[Diagnostic]:
    """Report definitions without a Meta kernel, for namespaces whose Meta kernels are in C++.

    What the YAML declares is looked at there; a `def` that is given a function is composite and needs none.
    """
    metas = {(r.namespace, r.name) for r in registrations if r.key == "Meta"}
    missing: dict[str, dict[str, CppRegistration]] = {}
    for r in registrations:
        if not r.is_definition or r.function or (r.namespace, r.name) in metas:
            continue
        if r.namespace in {namespace for namespace, _ in metas} and not declarations.find(
            r.namespace, r.name
        ):
            missing.setdefault(r.namespace, {}).setdefault(r.name, r)
    for namespace, found in missing.items():
        needed = [name for name, r in found.items() if not r.returns_nothing]
        unneeded = [name for name in found if name not in needed]
        parts = [f"no Meta kernel is registered for {', '.join(needed)}"] if needed else []
        if unneeded:
            which = ", ".join(unneeded)
            parts.append(f"none for {which}, which {'return' if len(unneeded) > 1 else 'returns'} nothing")
        message = f"in the namespace {namespace}, {'; '.join(parts)}"
        severity = Severity.WARNING if needed else Severity.NOTE
        first = found[needed[0] if needed else unneeded[0]]
        help = "register one for each that returns something" if needed else "none is needed"
        yield Diagnostic(NO_META, severity, message, first.mark, help)
