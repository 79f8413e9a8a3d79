"""Model to text, one module per product. Reads no YAML and imports no torch."""

from __future__ import annotations

from opkit.emit import meta_custom_op, meta_library
from opkit.emit.meta_kernel import Options
from opkit.errors import OpkitError
from opkit.model.operator import OpFile

STYLES = {"library": meta_library.emit, "custom-op": meta_custom_op.emit}


def emit_meta(op_file: OpFile, style: str = "library", namespace: str = "npu", **options: object) -> str:
    """Print the Meta module of a file: `style` is "library" or "custom-op".

    `namespace` is for operators whose `func` names none. Further options are the fields of
    `opkit.emit.meta_kernel.Options`. Raises OpkitError when an operator has no usable rule, or cannot be
    expressed in the style.
    """
    if style not in STYLES:
        raise OpkitError(f"there is no style {style!r}", f"use one of: {', '.join(STYLES)}")
    return STYLES[style](op_file, Options(namespace=namespace, **options))  # type: ignore[arg-type]
