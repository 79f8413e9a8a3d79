"""Reads the schemas that `TORCH_LIBRARY` blocks of a C++ file define."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from opkit.against.cpp.functions import CppFunction, find_functions
from opkit.against.cpp.libraries import CppRegistration, find_registrations
from opkit.against.cpp.source import CppSource, Token
from opkit.errors import OpkitError
from opkit.importing.declaration import Imported
from opkit.model.diagnostic import Severity
from opkit.read.schema import parse_schema_source
from opkit.read.source import Place, SourceText

_OPENING = re.compile(r'(?:u8|[uUL])?(?:(?P<raw>R"[^(]*\()|")')
_MACRO = re.compile(r"(?:STABLE_)?TORCH_LIBRARY(?:_FRAGMENT)?(?:_EXPAND)?")
_CHARACTER = re.compile(
    r"\\(?:(?P<joined>\n)|x[0-9a-fA-F]{2}|[0-7]{1,3}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)|[^\\]", re.DOTALL
)


def import_cpp(path: Path, namespace: str | None = None) -> Imported:
    """Read a file; `namespace` stands for one that a macro names, such as TORCH_EXTENSION_NAME.

    Raises OpkitError when the file cannot be read or defines no operator.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise OpkitError(f"cannot read {path}: {reason}", "check the path") from None
    imported = Imported()
    definitions = 0
    source = CppSource(str(path), text)
    blocks = list(find_functions(source))
    for block in blocks:
        found = [r for r in find_registrations([block]) if r.is_definition]
        definitions += len(found) + sum(1 for _ in _without_text(block, imported))
        _in_a_function(block, imported)
        for registration in found:
            _read(block.source, registration, namespace, imported)
    read = {block.token.start for block in blocks}
    for token in source.tokens:
        if token.kind == "name" and _MACRO.fullmatch(token.text) and token.start not in read:
            message = (
                f"this {token.text} block is not read: its brackets do not match, or it is in a function"
            )
            help = "balance them in each branch of #if"
            imported.unread(Severity.WARNING, message, source.mark(token), help)
    imported.diagnostics.sort(key=lambda d: (d.mark.line, d.mark.column) if d.mark else (0, 0))
    if not definitions and not imported.diagnostics:
        raise OpkitError(
            f"{path} defines no operator", 'it has no m.def("schema") in a TORCH_LIBRARY(ns, m) { } block'
        )
    return imported


def _read(
    source: CppSource, registration: CppRegistration, namespace: str | None, imported: Imported
) -> None:
    """Parse one definition, with the place of every character of its literals."""
    literals, whole = _literals(source, registration)
    mark = registration.mark
    name = f"{registration.namespace}::{registration.name}"
    if not whole:
        message = f"the schema of {name} is not all string literals of one #if branch"
        imported.unread(Severity.WARNING, message, mark, "declare it by hand, or import it from torch.ops")
        return
    if "(" not in registration.schema:
        message = f"{name} is defined without a schema; torch makes it from the C++ function"
        imported.unread(Severity.NOTE, message, mark, "import it from torch.ops")
        return
    places = [place for token in literals for place in _places(source, token)]
    start = (mark.line, mark.column)
    schema, diagnostics = parse_schema_source(
        SourceText(registration.schema, source.path, start, lambda: places)
    )
    imported.diagnostics += diagnostics
    if schema is None:
        return
    space = registration.namespace
    if not schema.name.namespace and not re.fullmatch(r"\w+", space):
        message = f"the namespace {space} is put together by the preprocessor"
        imported.unread(Severity.WARNING, message, mark, "declare it by hand, or import it from torch.ops")
        return
    if not schema.name.namespace and space.isupper():
        if namespace is None:
            message = f"the namespace {space} is a macro, and is written as it stands"
            imported.unread(Severity.WARNING, message, mark, "name the one it means: --namespace NAME")
        space = namespace or space
    imported.add(schema, space)


def _literals(source: CppSource, registration: CppRegistration) -> tuple[list[Token], bool]:
    """Find the adjacent literals of a definition, and whether they are all that its schema is made of."""
    tokens = source.tokens
    place = (registration.mark.line, registration.mark.column)
    index = next(i for i, t in enumerate(tokens) if t.kind == "string" and _place(source, t.start) == place)
    end = index
    while end < len(tokens) and tokens[end].kind == "string":
        end += 1
    found = tokens[index:end]
    whole = (
        "".join(token.text for token in found) == registration.schema
        and {token.branches for token in found} == {found[0].branches}
        and tokens[index - 1].text == "("
        and end < len(tokens)
        and tokens[end].text in (",", ")")
    )
    return found, whole


def _place(source: CppSource, offset: int) -> Place:
    line = source.line(offset)
    return line, offset - (source.text.rfind("\n", 0, offset) + 1) + 1


def _places(source: CppSource, token: Token) -> list[Place]:
    """Give the place of each character of a literal's value."""
    written = source.text[token.start : token.end]
    opening = _OPENING.match(written)
    first = token.start + (opening.end() if opening else 0)
    if opening is None or opening["raw"] or "\\" not in written:
        offsets = [first + i for i in range(len(token.text))]
    else:
        inside = _CHARACTER.finditer(source.text, first, token.end - 1)
        offsets = [match.start() for match in inside if match["joined"] is None]
    if len(offsets) != len(token.text):  # an escape this table does not know
        offsets = [token.start] * len(token.text)
    return [_place(source, offset) for offset in offsets]


def _in_a_function(block: CppFunction, imported: Imported) -> None:
    """Report a function that defines operators in a library it is given, whose namespace its callers know."""
    source = block.source
    for parameter in block.parameters:
        if not re.fullmatch(r"(?:::)?(?:torch::)?Library&", parameter.type):
            continue
        for index in block.body:
            if source.texts(range(index, min(index + 3, block.body.stop))) == [parameter.name, ".", "def"]:
                message = (
                    f"{block.name} defines operators in a library that its caller gives; they are not read"
                )
                help = "declare them by hand, or import them from torch.ops"
                imported.unread(Severity.WARNING, message, source.mark(source.tokens[index]), help)
                break


def _without_text(block: CppFunction, imported: Imported) -> Iterator[Token]:
    """Report and give each `m.def(...)` whose first argument holds no string literal."""
    if _MACRO.fullmatch(block.name) is None or len(block.arguments) < 2:
        return
    source, tokens = block.source, block.source.tokens
    variable = "".join(source.texts(block.arguments[-1]))
    for index in block.body:
        if source.texts(range(index, min(index + 4, block.body.stop))) != [variable, ".", "def", "("]:
            continue
        if index + 3 not in source.closing:
            message = "this definition's parentheses do not match"
            imported.unread(Severity.WARNING, message, source.mark(tokens[index]), "balance them")
            yield tokens[index]
            continue
        arguments = source.split(index + 4, source.closing[index + 3])
        if not any(tokens[i].kind == "string" for span in arguments[:1] for i in span):
            message = "the schema of this definition is made by a macro or at run time"
            help = "declare it by hand, or import it from torch.ops"
            imported.unread(Severity.WARNING, message, source.mark(tokens[index]), help)
            yield tokens[index]
