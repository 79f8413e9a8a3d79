"""Model to text, one module per product. Reads no YAML and imports no torch."""

from __future__ import annotations

from opkit.errors import OpkitError
from opkit.model.operator import OpFile


def emit_meta(op_file: OpFile, style: str = "library", namespace: str = "npu", **options: object) -> str:
    """Print the Meta module of a file: `style` is "library" or "custom-op".

    `namespace` is for operators whose `func` names none. Further options are the fields of
    `opkit.emit.meta_kernel.Options`. Raises OpkitError when an operator has no usable rule, or cannot be
    expressed in the style.
    """
    # Whoever only asks for a converter or a prototype, as `opkit check` does, starts faster without these.
    from opkit.emit import meta_custom_op, meta_library
    from opkit.emit.meta_kernel import Options

    styles = {"library": meta_library.emit, "custom-op": meta_custom_op.emit}
    if style not in styles:
        raise OpkitError(f"there is no style {style!r}", f"use one of: {', '.join(styles)}")
    return styles[style](op_file, Options(namespace=namespace, **options))  # type: ignore[arg-type]
