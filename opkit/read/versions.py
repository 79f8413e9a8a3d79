"""Which torch versions a `op_api: [v2.1, newest]`-like value means.

The rule is `get_version` of op-plugin's torchnpugen (op_codegen_utils.py); what it silently reads as
something else than it looks like is reported.
"""

from __future__ import annotations

import re

import yaml

from opkit.model.versions import version_key
from opkit.read.document import Document, kind, plain
from opkit.shape.errors import nearest

CODE = "OPK006"

# A range that is written as a text: `[v2.1, newest]` in quotes, `v2.1-v2.6`, `>=v2.1`, `v2.1+`.
_RANGE_TEXT = r"[\[\]<>+~]|\d\s*(?:-|\.\.+|to)\s*v?\d"
_WRITTEN = re.compile(r"[vV]?(\d+\.\d+)(?:\.\d+)?")

# What op_plugin_functions.yaml itself lists; assumed for files without an `all_version` list.
BUILT_IN_VERSIONS = tuple(f"v2.{minor}" for minor in range(1, 16))


def listed_versions(document: Document, node: yaml.SequenceNode) -> tuple[str, ...]:
    """Read the list `all_version`; ranges are counted along it, so its order matters."""
    versions: list[str] = []
    for item in node.value:
        number = _WRITTEN.fullmatch(item.value)
        if number is None or item.value != f"v{number[1]}":
            help = f"write v{number[1]}" if number else "write it like v2.13"
            document.report(CODE, f"`{item.value}` is no version", document.mark(item), help)
            versions += [f"v{number[1]}"] if number else []
        elif item.value in versions:
            document.warn(CODE, f"{item.value} is listed twice", document.mark(item), "remove one of them")
        else:
            if versions and version_key(item.value) < version_key(versions[-1]):
                text = f"{item.value} is listed after {versions[-1]}, and ranges are counted along the list"
                document.warn(CODE, text, document.mark(item), "list the versions from old to new")
            versions.append(item.value)
    return tuple(versions)


def resolve(document: Document, key: str, node: yaml.Node, versions: tuple[str, ...]) -> tuple[str, ...]:
    """Resolve one version value; reports what is wrong with it and gives what can still be told."""
    if isinstance(node, yaml.SequenceNode):
        return _range(document, key, node, versions)
    type_ = kind(node)
    if type_ == "null":
        return ()
    if type_ == "bool":
        # torch_npu's own npu_native_functions.yaml writes booleans; it has no list of versions.
        if document.lists_versions:
            text = f"`{key}: {node.value}` is no version; op-plugin stops at a boolean"
            document.report(CODE, text, document.mark(node), f"write {key}: all_version, or leave it out")
        return versions if plain(node) else ()
    if type_ == "float":
        document.report(
            CODE, f"`{key}: {node.value}` is a number to YAML", document.mark(node), f"write v{node.value}"
        )
        return ()
    if not isinstance(node, yaml.ScalarNode):
        document.report(CODE, f"`{key}` is a version or a range [first, last]", document.mark(node))
        return ()
    return _text(document, key, node, versions)


def _range(
    document: Document, key: str, node: yaml.SequenceNode, versions: tuple[str, ...]
) -> tuple[str, ...]:
    mark = document.mark(node)
    bounds = [str(plain(item)) for item in node.value]
    if len(bounds) != 2:
        help = "write [first, last], or [first, newest] for an open end"
        if len(bounds) > 2:
            help += "; to name single versions write a text: v2.1, v2.2"
        document.report(CODE, f"a version range has two bounds, `{key}` has {len(bounds)}", mark, help)
        return ()
    first, last = bounds[0], versions[-1] if bounds[1] == "newest" and versions else bounds[1]
    for bound, item in zip((first, last), node.value):
        if bound not in versions:
            _report_unknown(document, bound, item, versions)
            return ()
    if versions.index(first) > versions.index(last):
        message = f"the range [{first}, {bounds[1]}] is reversed, so it is empty"
        document.warn(CODE, message, mark, f"write [{last}, {first}]")
        return ()
    return versions[versions.index(first) : versions.index(last) + 1]


def _text(document: Document, key: str, node: yaml.ScalarNode, versions: tuple[str, ...]) -> tuple[str, ...]:
    text = node.value
    if text == "all_version":
        return versions
    if key == "sparse" and text in ("op_api", "acl_op") and not document.lists_versions:
        # A file that op-plugin's first stage has resolved for one version names the kernel here.
        return versions
    # op-plugin splits on ", " if that occurs and on "," otherwise, and strips nothing.
    parts = text.split(", ") if ", " in text else text.split(",")
    if any(part not in versions for part in parts) and re.search(_RANGE_TEXT, text):
        bounds = re.findall(r"v\d+\.\d+", text)
        help = f"write the list [{bounds[0]}, {bounds[1] if len(bounds) > 1 else 'newest'}]" if bounds else ""
        message = f"`{key}: {text}` is a text, and a range is a list"
        document.report(CODE, message, document.mark(node), help)
        return ()
    found = []
    for part in parts:
        if part in versions:
            found.append(part)
        elif part == "newest":
            help = "for an open range write a list: [v2.1, newest]"
            document.warn(CODE, "`newest` means something in a list only", document.mark(node), help)
        elif not part.strip(", "):
            document.warn(CODE, "a comma with no version at it", document.mark(node), "remove the comma")
            break
        elif "," in part or part != part.strip():
            help = "separate with one comma and one space everywhere"
            if part.endswith(",") and "," not in part[:-1]:
                help = "remove the comma at the end"
            document.warn(CODE, f"op-plugin reads `{part}` as one version", document.mark(node), help)
        else:
            _report_unknown(document, part, node, versions)
    return tuple(v for v in versions if v in found)


def _report_unknown(document: Document, version: str, node: yaml.Node, versions: tuple[str, ...]) -> None:
    mark = document.mark(node)
    known = f"{versions[0]} to {versions[-1]}" if versions else "none"
    wanted = _WRITTEN.fullmatch(version)
    if version == "newest":
        help = "`newest` is the end of a range only; name the version it begins with"
    elif wanted and f"v{wanted[1]}" in versions:
        help = f"write v{wanted[1]}"
    elif close := nearest(version, ["all_version"]):
        help = close
    elif version_key(version) > (0,) and versions and version_key(version) > version_key(versions[-1]):
        help = "add it to the list `all_version` at the top of the file"
    else:
        help = f"known versions: {known}, `newest` as the end of a range, `all_version`"
    document.report(CODE, f"unknown version `{version}`", mark, help)
