"""One entry of a section to an OpSpec."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import yaml

from opkit.model.diagnostic import Mark, Severity
from opkit.model.operator import OpSpec
from opkit.model.schema import Argument, OperatorSchema, Return, base_of
from opkit.read.document import STRUCTURE, Document, describe, is_null, kind, plain
from opkit.read.gen_opapi import read_gen_opapi
from opkit.read.schema import parse_schema_source
from opkit.read.source import SourceText
from opkit.read.spacing import CODE as SPACING
from opkit.read.spacing import loose_gaps
from opkit.read.tokens import SCHEMA, tokenize
from opkit.read.types import VERSIONED_TYPES, type_known_in
from opkit.read.usual import usual_schema
from opkit.read.values import check_values
from opkit.read.versions import CODE as VERSION
from opkit.read.versions import resolve
from opkit.shape.errors import nearest

UNKNOWN_KEY = "OPK007"
TYPE_OF_OTHER_VERSION = "OPK012"
NO_FUNC = "OPK017"
UNKNOWN_VALUE = "OPK019"

# Keys that make an operator exist for a torch version.
_KERNEL_KEYS = ("op_api", "acl_op", "sparse")
_IMPL_NS = ("acl_op", "op_api", "dvm")
_VERSION_KEYS = (*_KERNEL_KEYS, "dvm", "exposed", "internal_format_opapi")
_OTHER_KEYS = [
    "func",
    "tags",
    "dispatch",
    "device_check",
    "structured",
    "structured_delegate",
    "structured_inherits",
    "precomputed",
    "use_const_ref_for_mutable_tensors",
    "gen_opapi",
    "impl_ns",
    "impl_name",
    "version",
    "autogen",
    "variants",
]
# Keys of `gen_opapi` that people put one level too high.
_GEN_OPAPI_KEYS = ("exec", "structured_inherit", "new_params")
_OPKIT_KEYS = (
    "meta",
    "ge",
    "cases",
    "reference",
    "kernel",
    "side_effect",
    "corrects",
    "enters",
    "known_failures",
)
_KNOWN_KEYS = (*_VERSION_KEYS, *_OTHER_KEYS, *_OPKIT_KEYS)


_BARE_NAME = re.compile(r"\w+(\.\w+)?")


@dataclass(frozen=True)
class Settings:
    """What holds for the whole file."""

    versions: tuple[str, ...]
    # "v2.13" to read the operators of that version only; None reads all.
    version: str | None


def read_entry(document: Document, node: yaml.Node, section: str, settings: Settings) -> OpSpec | None:
    """Read one item; None if it is no operator of the wanted version or its schema cannot be read."""
    document.operator = ""
    document.entries.append((node.start_mark.line + 1, max(node.end_mark.line, node.start_mark.line + 1)))
    if isinstance(node, yaml.ScalarNode) and "(" in node.value:
        # torch_npu's own YAML lists bare schemas.
        schema = _schema(document, document.source(node), True)
        return _bare(document, schema, section, node) if schema else None
    if isinstance(node, yaml.ScalarNode) and kind(node) == "str":
        return None
    items = document.items(node, f"an entry of `{section}`")
    if items is None:
        return None
    if "func" not in items:
        help = "write func: name(Tensor x) -> Tensor"
        close = next((name for name in items if nearest(name.lower(), ["func"])), None)
        mark = document.mark(items[close][0] if close else node)
        document.report(
            NO_FUNC, "the entry has no `func`", mark, f"write func for {close}" if close else help
        )
        return None
    func = items["func"][1]
    if not isinstance(func, yaml.ScalarNode) or kind(func) != "str":
        help = "write func: name(Tensor x) -> Tensor"
        document.report(NO_FUNC, f"`func` is a schema, found {describe(func)}", document.mark(func), help)
        return None
    source = document.source(func)
    if section == "official" and not document.lists_versions and _BARE_NAME.fullmatch(source.text):
        # torch_npu's own YAML names operators of torch, whose schema torch knows.
        return None
    document.operator = source.text.partition("(")[0].strip()
    versions = _versions(document, items, settings)
    supported = {v for key in _KERNEL_KEYS for v in versions.get(key, ())}
    declares = any(key in items for key in (*_KERNEL_KEYS, "impl_ns"))
    alone = next((key for key in _VERSION_KEYS if key in items), None)
    if alone and not declares and document.lists_versions:
        text = f"`{alone}` alone makes no operator: op-plugin leaves the entry out"
        document.warn(VERSION, text, document.mark(items[alone][0]), "add op_api, acl_op or sparse")
    elif document.lists_versions and not supported:
        _check_empty(document, items)
    if settings.version and declares and settings.version not in supported:
        return None
    schema = _schema(document, source, bool(supported))
    _check_keys(document, items)
    check_values(document, items)
    if schema is not None:
        _check_types(document, schema, supported, settings)
    return _spec(document, items, schema, section, versions, node)


def _schema(document: Document, source: SourceText, read_by_op_plugin: bool) -> OperatorSchema | None:
    schema = usual_schema(source)
    if schema is not None:
        document.operator = str(schema.name)
        return schema
    schema, diagnostics = parse_schema_source(source)
    if schema is None and document.is_cut_by_comment(source.text, source.mark()):
        help = "YAML takes ` #` for the beginning of a comment; put the schema in quotes"
        diagnostics = (replace(diagnostics[0], help=help), *diagnostics[1:])
    document.diagnostics += diagnostics
    if schema is not None:
        document.operator = str(schema.name)
        _check_spacing(document, source, read_by_op_plugin)
    return schema


def _check_spacing(document: Document, source: SourceText, read_by_op_plugin: bool) -> None:
    """Report the first place that op-plugin would not have written so."""
    for before, after, wanted in loose_gaps(source.text, tokenize(source, SCHEMA, SPACING)):
        severity = Severity.WARNING if read_by_op_plugin else Severity.NOTE
        pair = f"{before.text}{wanted}{after.text}"
        text = f"op-plugin reads `{pair}` with exactly this spacing; torch does not mind"
        mark = source.mark(before.start, after.end)
        help = "`opkit check --fix` does it"
        if "\n" in source.text[before.end : after.start]:
            help = "indent the lines of `func` alike: YAML keeps the end of a line before a deeper one"
        document.report(SPACING, text, mark, help, severity)
        return


def _bare(document: Document, schema: OperatorSchema, section: str, node: yaml.Node) -> OpSpec:
    return OpSpec(schema, section, (), (), None, None, None, (), None, None, (), False, document.mark(node))


def _versions(
    document: Document, items: dict[str, tuple[yaml.Node, yaml.Node]], settings: Settings
) -> dict[str, tuple[str, ...]]:
    found = {
        key: resolve(document, key, items[key][1], settings.versions) for key in _VERSION_KEYS if key in items
    }
    if "impl_ns" in items:
        # A file that op-plugin's first stage has already resolved for one version.
        node = items["impl_ns"][1]
        for name in map(str.strip, str(plain(node)).split(",")):
            if name in _KERNEL_KEYS:
                found.setdefault(name, settings.versions)
            elif name != "dvm":
                help = nearest(name, _IMPL_NS) or f"write one or more of {', '.join(_IMPL_NS)}"
                document.warn(UNKNOWN_VALUE, f"`impl_ns` names no kernel `{name}`", document.mark(node), help)
    return found


def _check_empty(document: Document, items: dict[str, tuple[yaml.Node, yaml.Node]]) -> None:
    """Report the key of a kernel that stands there without a version."""
    for key in _KERNEL_KEYS:
        if key in items and is_null(items[key][1]):
            text = f"`{key}` is empty: op-plugin leaves the entry out"
            document.warn(VERSION, text, document.mark(items[key][0]), f"write {key}: all_version")


def _check_keys(document: Document, items: dict[str, tuple[yaml.Node, yaml.Node]]) -> None:
    unknown = [name for name in items if name not in _KNOWN_KEYS]
    empty = "gen_opapi" in items and is_null(items["gen_opapi"][1])
    if empty and not unknown:
        help = "add exec: aclnnName and the results, or remove the key"
        document.report("OPK030", "`gen_opapi` is empty", document.mark(items["gen_opapi"][0]), help)
    if unknown and empty:
        text = "`gen_opapi` is empty, and what belongs to it stands beside it"
        document.report("OPK030", text, document.mark(items["gen_opapi"][0]), f"indent {', '.join(unknown)}")
        return
    for name in unknown:
        key = items[name][0]
        close = nearest(name, _KNOWN_KEYS)
        if name in _GEN_OPAPI_KEYS:
            close = "put it under gen_opapi:"
        # A fork may have keys of its own; one that looks like a known key is a slip.
        severity = Severity.WARNING if close else Severity.NOTE
        text = f"`{name}` is no key of an operator; it is ignored"
        document.report(UNKNOWN_KEY, text, document.mark(key), close, severity)


def _check_types(document: Document, schema: OperatorSchema, supported: set[str], settings: Settings) -> None:
    """Report types that a torch version the entry is for does not have."""
    parts: tuple[Argument | Return, ...] = (*schema.arguments, *schema.returns)
    versioned = [(part, name) for part in parts if (name := base_of(part.type).name) in VERSIONED_TYPES]
    if not versioned:
        return
    wanted = [settings.version] if settings.version else sorted(supported & set(settings.versions))
    for part, name in versioned:
        lacking = [v for v in wanted if v and not type_known_in(name, v)]
        first, last = VERSIONED_TYPES[name]
        range_ = f"only up to {last}" if last else f"only from {first} on"
        if lacking:
            help = f"limit the entry, e.g. op_api: [v2.1, {last}]" if last else f"op_api: [{first}, newest]"
            text = f"torch {lacking[0][1:]} has no type {name}; torch has it {range_.replace('v', '')}"
            severity = Severity.ERROR if settings.version else Severity.WARNING
            document.report(TYPE_OF_OTHER_VERSION, text, part.mark, help, severity)


def _spec(
    document: Document,
    items: dict[str, tuple[yaml.Node, yaml.Node]],
    schema: OperatorSchema | None,
    section: str,
    versions: dict[str, tuple[str, ...]],
    node: yaml.Node,
) -> OpSpec | None:
    def value(key: str) -> yaml.Node | None:
        return items[key][1] if key in items and not is_null(items[key][1]) else None

    structured = _flag(document, value("structured"), "structured")
    gen_opapi = None
    if found := value("gen_opapi"):
        fresh = schema is not None and any(r.alias is None for r in schema.returns)
        has_meta = _has_meta_results(items)
        makes_meta = section == "custom" and fresh and not has_meta
        gen_opapi = read_gen_opapi(document, found, schema, structured, makes_meta, has_meta)
        if section in ("autograd", "quant", "symint"):
            what = "stops at" if section == "autograd" else "ignores"
            text = f"op-plugin's structured generator {what} a `gen_opapi` under `{section}`"
            key = items["gen_opapi"][0]
            severity = Severity.ERROR if section == "autograd" else Severity.WARNING
            document.report("OPK030", text, document.mark(key), "remove it", severity)
        if delegate := value("structured_delegate"):
            text = "`structured_delegate` and `gen_opapi` exclude each other"
            document.report("OPK030", text, document.mark(delegate), "remove one")
    side_effect = _flag(document, value("side_effect"), "side_effect")
    spec = (
        None
        if schema is None
        else OpSpec(
            schema=schema,
            section=section,
            op_api=versions.get("op_api", ()),
            acl_op=versions.get("acl_op", ()),
            gen_opapi=gen_opapi,
            meta=None,
            ge=None,
            cases=(),
            reference=None,
            kernel=None,
            extra=tuple((name, plain(item)) for name, (_, item) in items.items()),
            side_effect=side_effect,
            mark=_name_mark(document, items["func"][1]),
        )
    )
    if any(key in items for key in _OPKIT_KEYS):
        # op-plugin's own file has none of them, and is read faster without the modules for them.
        from opkit.read.own_keys import add_own_keys

        return add_own_keys(document, items, schema, spec)
    return spec


def _has_meta_results(items: dict[str, tuple[yaml.Node, yaml.Node]]) -> bool:
    """Tell whether `meta` says more than what to check, so that `gen_opapi` gives no results."""
    node = items["meta"][1] if "meta" in items else None
    if not isinstance(node, yaml.MappingNode):
        return node is not None
    return any(key.value not in ("let", "require") for key, _ in node.value)


def _name_mark(document: Document, func: yaml.Node) -> Mark:
    assert isinstance(func, yaml.ScalarNode)
    return document.source(func).mark(0, max(func.value.find("("), 1))


def _flag(document: Document, node: yaml.Node | None, key: str) -> bool:
    if node is None:
        return False
    value = plain(node)
    if not isinstance(value, bool):
        document.report(STRUCTURE, f"`{key}` is true or false, found {describe(node)}", document.mark(node))
        # Whoever writes the key means it.
        return True
    return value
