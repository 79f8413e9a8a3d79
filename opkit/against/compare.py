"""All findings about source files beside the schemas of one or more YAML files."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path

from opkit.against.coverage import check_coverage
from opkit.against.cpp import check_cpp
from opkit.against.declared import Declarations, Declared
from opkit.against.definitions import check_mutates
from opkit.against.flow import Flow
from opkit.against.names import UndefinedNames
from opkit.against.python_source import PythonSource
from opkit.against.registration import Found, Registration
from opkit.against.registrations import find_registrations, may_register
from opkit.against.results import check_results
from opkit.against.signature import check_signature
from opkit.against.sizes import check_sizes
from opkit.against.sources import CPP, find_sources
from opkit.against.tensors import check_tensors
from opkit.model.diagnostic import Diagnostic, Mark, Severity
from opkit.model.operator import OpFile

UNREAD = "OPK220"


def compare(op_files: Iterable[OpFile], names: Iterable[str]) -> list[Diagnostic]:
    """Compare the operators of YAML files with source files, directories or modules.

    Findings come in the order of the sources. Raises OpkitError for a name that leads to no source file.
    """
    declarations = Declarations(op_files)
    # A file may be given by its own name and by its directory's.
    paths = {path.resolve(): path for name in reversed(list(names)) for path in reversed(find_sources(name))}
    texts: list[tuple[str, str]] = []
    findings: list[Diagnostic] = []
    for path in reversed(paths.values()):
        try:
            texts.append((str(path), _read(path)))
        except (OSError, UnicodeError, SyntaxError) as error:
            reason = getattr(error, "strerror", None) or "the text is in another encoding than the file says"
            findings.append(_unread(str(path), f"cannot read {path}: {reason}"))
    found: list[Found] = []
    for file, text in texts:
        # Most files of a package register nothing and need no parsing.
        if not file.endswith(CPP) and (len(texts) == 1 or may_register(text)):
            findings += _check_python(file, text, declarations, found)
    cpp = [(file, text) for file, text in texts if file.endswith(CPP)]
    cpp_findings, meta_in_cpp = check_cpp(declarations, cpp)
    findings += check_coverage(declarations, found, meta_in_cpp)
    findings += cpp_findings
    return _without_silenced(findings, declarations, found)


def _read(path: Path) -> str:
    """Read a Python file as Python does; C++ is ASCII but for its comments, which may be in any encoding."""
    data = path.read_bytes()
    if path.suffix in CPP:
        return data.decode("utf-8-sig", errors="replace")
    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    return data.decode(encoding).replace("\r\n", "\n").replace("\r", "\n")


def _unread(path: str, message: str, line: int = 1, column: int = 1) -> Diagnostic:
    return Diagnostic(UNREAD, Severity.ERROR, message, Mark(path, line, column), "nothing in it is compared")


def _check_python(
    file: str, text: str, declarations: Declarations, found: list[Found]
) -> Iterator[Diagnostic]:
    try:
        source = PythonSource(file, text)
    except SyntaxError as error:
        yield _unread(file, f"not Python: {error.msg}", error.lineno or 1, max(error.offset or 1, 1))
        return
    except (ValueError, RecursionError) as error:
        yield _unread(file, f"not Python: {error}")
        return
    here = find_registrations(source)
    found.append(here)
    if here.unclear:
        mark = source.mark(here.unclear[0])
        count = len(here.unclear)
        message = f"not compared: {count} registration{'s' * (count != 1)} whose operator is not in the text"
        yield Diagnostic(
            UNREAD, Severity.NOTE, message, mark, "name the library and the operator in the file"
        )
    yield from check_mutates(declarations, here.mutates)
    names = UndefinedNames(source) if here.registrations else None
    for registration in here.registrations:
        candidates = declarations.find(registration.namespace, registration.name)
        if candidates and registration.function is None:
            message = (
                f"not compared: the {registration.kind.value} of {registration.name} is not in this file"
            )
            help = "give the file it is in, and register it there"
            yield Diagnostic(UNREAD, Severity.NOTE, message, registration.mark, help, registration.name)
        elif candidates and names is not None:
            # Several declarations are for several torch versions; the code is for one of them.
            results = [_check(d, registration, names) for d in candidates]
            yield from min(results, key=lambda r: sum(d.severity is Severity.ERROR for d in r))


def _check(declared: Declared, registration: Registration, names: UndefinedNames) -> list[Diagnostic]:
    flow = Flow(declared, registration)
    findings = [*check_signature(declared, registration), *check_results(flow), *names.check(flow)]
    if registration.kind.is_meta:
        findings += [*check_sizes(flow), *check_tensors(flow)]
    return findings


def _without_silenced(
    findings: list[Diagnostic], declarations: Declarations, found: list[Found]
) -> list[Diagnostic]:
    """Leave out what a comment silences: on the line, on the function, or in the operator's entry."""
    sources = {r.source.path: r.source for f in found for r in f.registrations}
    functions = {
        (r.source.path, r.name): r.function.lineno
        for f in found
        for r in f.registrations
        if r.function is not None
    }
    kept: dict[tuple[str, Mark | None, str], Diagnostic] = {}
    for d in findings:
        source = sources.get(d.mark.file) if d.mark else None
        if source is not None and d.mark is not None:
            lines = [d.mark.line, functions.get((source.path, d.operator), d.mark.line)]
            if source.ignores(d.code, *lines):
                continue
        if d.operator and any(declared.ignores(d.code) for declared in declarations.named(d.operator)):
            continue
        kept.setdefault((d.code, d.mark, d.operator), d)
    return list(kept.values())
