"""A whole op_plugin_functions.yaml-style file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import yaml

from opkit.model.diagnostic import Diagnostic, Mark, Severity
from opkit.model.operator import OpFile, OpSpec
from opkit.read.document import STRUCTURE, Document, describe, is_null, plain
from opkit.read.entry import Settings, read_entry
from opkit.read.suppressions import read_suppressions
from opkit.read.versions import BUILT_IN_VERSIONS, listed_versions
from opkit.read.versions import CODE as VERSION
from opkit.shape.errors import nearest

# `opkit` commands exit with 2 for this one: there is nothing to check.
UNREADABLE = "OPK001"
NOT_TEXT = "OPK002"
UNKNOWN_SECTION = "OPK005"
INHERITED = "OPK033"
SYMINT_ALONE = "OPK008"
TWICE = "OPK009"

# Section in the file -> OpSpec.section. The ones after the first five are those of torch_npu's own YAML.
SECTIONS = {
    "official": "official",
    "custom": "custom",
    "symint": "symint",
    "quant": "quant",
    "autograd": "autograd",
    "supported": "official",
    "custom_supported": "custom",
    "custom_autograd": "custom",
}
# What YAML takes for the end of a line and an editor does not.
_OTHER_LINE_ENDS = "\x85\u2028\u2029"
_OTHER_KEYS = ("all_version", "backend", "cpp_namespace", "tocpu", "unsupported", "nestedtensor")


def read_file(
    path: str | Path, torch_version: str | None = None
) -> tuple[OpFile | None, tuple[Diagnostic, ...]]:
    """Read a YAML file. Never raises for a user's mistake.

    A file that does not exist or cannot be read gives (None, one diagnostic with code OPK001).
    """
    path = Path(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        reason = error.strerror or str(error)
        return None, (
            Diagnostic(UNREADABLE, Severity.ERROR, f"cannot read {path}: {reason}", None, "check the path"),
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        mark = Mark(str(path), before.count(b"\n") + 1, error.start - before.rfind(b"\n"))
        help = "save the file as UTF-8"
        return None, (Diagnostic(NOT_TEXT, Severity.ERROR, "the file is not UTF-8 text", mark, help),)
    return read_text(text, path, torch_version)


def read_text(
    text: str, path: str | Path, torch_version: str | None = None
) -> tuple[OpFile | None, tuple[Diagnostic, ...]]:
    """Read YAML text that stands in `path`. None if it has no structure to read at all.

    `torch_version` ("2.13") leaves out the entries that have no kernel for that version; entries that name no
    version at all are for every version.
    """
    document = Document(str(path), plain_lines(text))
    root = document.compose()
    if root is None:
        if not document.diagnostics:
            _report_empty(document)
            return OpFile(document.path, (), BUILT_IN_VERSIONS), tuple(document.diagnostics)
        return None, tuple(document.diagnostics)
    if is_null(root):
        _report_empty(document)
        return OpFile(document.path, (), BUILT_IN_VERSIONS), tuple(document.diagnostics)
    if not isinstance(root, yaml.MappingNode):
        help = "begin with a section, e.g. custom:"
        document.report(
            STRUCTURE, f"the file is a mapping of sections, found {describe(root)}", document.mark(root), help
        )
        return None, tuple(document.diagnostics)
    sections = document.items(root, "the file") or {}
    document.lists_versions = "all_version" in sections
    versions = _all_versions(document, sections)
    settings = Settings(versions, _version(torch_version))
    operators = _operators(document, sections, settings)
    if settings.version and settings.version not in versions and len(operators) < len(document.entries):
        where = sections.get("all_version", (root,))[0]
        text = f"the versions of this file end before {settings.version}, so its operators are left out"
        document.warn(VERSION, text, document.mark(where), f"add {settings.version} to `all_version`")
    if not document.entries and not document.diagnostics:
        _report_empty(document)
    operators = _fold_symint(document, operators)
    if "backend" in sections:
        # torch_npu's own YAML: its generator defines these operators, also those without a kernel's key.
        backend = ("backend", plain(sections["backend"][1]))
        operators = [replace(op, extra=(*op.extra, backend)) for op in operators]
    _check_inherited(document, operators)
    _check_twice(document, operators)
    op_file = OpFile(document.path, tuple(operators), versions, read_suppressions(document))
    return op_file, tuple(document.diagnostics)


def plain_lines(text: str) -> str:
    """Give the text one kind of line end and no byte order mark.

    Each character keeps its line and column as an editor counts them.
    """
    text = text.lstrip("\ufeff")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    for end in _OTHER_LINE_ENDS:
        if end in text:
            text = text.replace(end, " ")
    return text


def _report_empty(document: Document) -> None:
    document.warn(
        STRUCTURE, "the file declares no operator", Mark(document.path, 1, 1), "add a section, e.g. custom:"
    )


def _version(torch_version: str | None) -> str | None:
    """ "2.13", "v2.13" and "2.13.0+cpu" to "v2.13"."""
    if not torch_version:
        return None
    return "v" + ".".join(torch_version.lstrip("v").partition("+")[0].split(".")[:2])


def _all_versions(document: Document, sections: dict[str, tuple[yaml.Node, yaml.Node]]) -> tuple[str, ...]:
    if "all_version" not in sections:
        return BUILT_IN_VERSIONS
    node = sections["all_version"][1]
    if is_null(node):
        return BUILT_IN_VERSIONS
    if not isinstance(node, yaml.SequenceNode) or not all(isinstance(i, yaml.ScalarNode) for i in node.value):
        help = "write all_version: [v2.1, v2.2, ...]"
        document.report(
            STRUCTURE,
            f"`all_version` is a list of versions, found {describe(node)}",
            document.mark(node),
            help,
        )
        return BUILT_IN_VERSIONS
    return listed_versions(document, node)


def _operators(
    document: Document, sections: dict[str, tuple[yaml.Node, yaml.Node]], settings: Settings
) -> list[OpSpec]:
    operators = []
    for name, (key, node) in sections.items():
        document.operator = ""
        if name in _OTHER_KEYS:
            continue
        if name not in SECTIONS:
            known = [*SECTIONS, *_OTHER_KEYS]
            help = nearest(name, known) or "sections: official, custom, symint, quant, autograd"
            document.warn(
                UNKNOWN_SECTION,
                f"unknown section `{name}`; its entries are ignored",
                document.mark(key),
                help,
            )
            continue
        if is_null(node):
            continue
        if not isinstance(node, yaml.SequenceNode):
            help = "begin each entry with a dash: - func: ..."
            document.report(
                STRUCTURE,
                f"`{name}` is a list of operators, found {describe(node)}",
                document.mark(key),
                help,
            )
            continue
        for item in node.value:
            spec = read_entry(document, item, SECTIONS[name], settings)
            if spec is not None:
                operators.append(spec)
    document.operator = ""
    return operators


def _fold_symint(document: Document, operators: list[OpSpec]) -> list[OpSpec]:
    """Take out the entries of `symint`: each repeats another section's and only says how C++ passes sizes.

    The operator it belongs to gets ("symint", True) among its extra keys.
    """
    named = {op.name for op in operators if op.section == "symint"}
    rest = [op for op in operators if op.section != "symint"]
    known = {op.name for op in rest}
    for op in operators:
        if op.section == "symint" and op.name not in known:
            document.operator = op.name
            help = "declare it under custom: or official: as well; symint: alone defines no operator"
            document.warn(SYMINT_ALONE, f"`{op.name}` is in `symint` only", op.mark, help)
            rest.append(op)
    document.operator = ""
    return [
        replace(op, extra=(*op.extra, ("symint", True)))
        if op.name in named and op.section != "symint"
        else op
        for op in rest
    ]


def _check_inherited(document: Document, operators: list[OpSpec]) -> None:
    """Check that every `structured_inherit` names an operator of the file that has a rule."""
    by_name = {op.name: op for op in operators}
    for op in operators:
        rule = op.gen_opapi
        if rule is None or rule.structured_inherit is None:
            continue
        target = by_name.get(rule.structured_inherit)
        if target is not None and target.gen_opapi is not None:
            continue
        document.operator = op.name
        missing = "has no `gen_opapi`" if target else "is not in this file"
        help = "" if target else nearest(rule.structured_inherit, by_name)
        document.report(
            INHERITED, f"`{rule.structured_inherit}`, named by structured_inherit, {missing}", rule.mark, help
        )
    document.operator = ""


def _check_twice(document: Document, operators: list[OpSpec]) -> None:
    """Report operators declared twice for the same torch version."""
    seen: dict[tuple[str, str], list[OpSpec]] = {}
    for op in operators:
        # `quant` and `autograd` register a kernel under another dispatch key, so a name may be in both.
        group = op.section if op.section in ("quant", "autograd") else ""
        same = seen.setdefault((group, op.schema.name.qualified), [])
        for other in same:
            common = [version for version in _kernel_versions(op) if version in _kernel_versions(other)]
            if common:
                document.operator = op.name
                for_version = f" for torch {common[0][1:]}" if common[0] else ""
                document.report(
                    TWICE,
                    f"`{op.name}` is declared twice{for_version}",
                    op.mark,
                    "remove one, rename one, or limit them to different versions",
                    related=(("the first one", other.mark),),
                )
                break
        same.append(op)
    document.operator = ""


def _kernel_versions(op: OpSpec) -> list[str]:
    """Give the torch versions an entry is for; one that names none is an operator of its own."""
    return list(dict.fromkeys((*op.op_api, *op.acl_op))) or [""]
