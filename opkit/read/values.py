"""Keys whose values are words of torch or of op-plugin: `tags`, `dispatch`, `device_check`."""

from __future__ import annotations

import yaml

from opkit.read.document import Document, describe
from opkit.shape.errors import nearest

CODE = "OPK019"

# torch.Tag of torch 2.6 to 2.13; a newer one is not known here.
TAGS = (
    "core",
    "cudagraph_unsafe",
    "data_dependent_output",
    "dynamic_output_shape",
    "flexible_layout",
    "generated",
    "inplace",
    "inplace_view",
    "maybe_aliasing_or_mutating",
    "needs_contiguous_strides",
    "needs_exact_strides",
    "needs_fixed_stride_order",
    "nondeterministic_bitwise",
    "nondeterministic_seeded",
    "out",
    "out_variant",
    "pointwise",
    "pt2_compliant_tag",
    "reduction",
    "view_copy",
)
# Keys that entries of op-plugin and torch_npu use, and their neighbours.
_DISPATCH = (
    "CompositeExplicitAutograd",
    "CompositeExplicitAutogradNonFunctional",
    "CompositeImplicitAutograd",
    "AutogradPrivateUse1",
    "PrivateUse1",
    "QuantizedPrivateUse1",
    "SparsePrivateUse1",
    "NPU",
    "Meta",
)
_DEVICE_CHECKS = ("NoCheck", "ExactSame")


def check_values(document: Document, items: dict[str, tuple[yaml.Node, yaml.Node]]) -> None:
    """Warn about words that nothing knows; whoever reads the file next stops at them or ignores them."""
    if "tags" in items:
        node = items["tags"][1]
        for tag in node.value if isinstance(node, yaml.SequenceNode) else [node]:
            for word in str(tag.value).replace(",", " ").split() if isinstance(tag, yaml.ScalarNode) else ():
                _check(document, word, tag, "tag", TAGS)
    if "dispatch" in items and isinstance(items["dispatch"][1], yaml.MappingNode):
        for key, _ in items["dispatch"][1].value:
            for word in str(key.value).split(","):
                _check(document, word.strip(), key, "dispatch key", _DISPATCH)
    if "device_check" in items:
        node = items["device_check"][1]
        _check(document, str(node.value), node, "kind of device check", _DEVICE_CHECKS)


def _check(document: Document, word: str, node: yaml.Node, what: str, known: tuple[str, ...]) -> None:
    if word in known:
        return
    help = nearest(word, known) or f"known: {', '.join(known)}"
    document.warn(CODE, f"{describe(node)} is no {what}", document.mark(node), help)
