"""Inside a worker of its own: does torchair have a converter for an operator, or can it make one."""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import Any


def prepare() -> None:
    """Start torchair, whose converters are registered on import. torch_npu must be imported."""
    import torch_npu  # noqa: F401 - makes `import torchair` find the one inside torch_npu
    import torchair

    torchair.get_npu_backend(compiler_config=torchair.CompilerConfig())


def facts(name: str) -> dict[str, Any]:
    """Describe one operator; the keys are fields of `Finding`."""
    from torchair._ge_concrete_graph.fx2ge_converter import _get_converter

    from opkit.cann.operators import find_operator

    operator = find_operator(name)
    converter = _get_converter(operator)
    if converter is None:
        return {"converter": "none", "automatic": _obstacle(operator)}
    return {"converter": "refuses" if _only_raises(converter) else "explicit", "automatic": ""}


def _only_raises(converter: Any) -> bool:
    """Tell whether a converter is a placeholder, whose whole body is a `raise`."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(converter))))
    except (OSError, TypeError, SyntaxError):
        return False
    function = tree.body[0]
    if not isinstance(function, ast.FunctionDef):
        return False
    body = [s for s in function.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    return len(body) == 1 and isinstance(body[0], ast.Raise)


def _obstacle(operator: Any) -> str:
    """Say why torchair makes no converter, as far as the schema tells.

    The conditions are those of `fx2ge_converter._validate_support` and `_get_target_params` (torch_npu 2.13).
    """
    text = str(operator)
    if any(part in text for part in ("prim", "prims", "aten")):
        return "it takes an operator whose name contains `prim` or `aten` for one of torch's own"
    for argument in operator._schema.arguments:
        type_ = str(argument.type)
        if type_ == "number":
            return f"`{argument.name}` is a Scalar"
        if type_ in ("List[Optional[Tensor]]", "Optional[List[Tensor]]"):
            return f"`{argument.name}` is a list of tensors of a kind that it takes for an attribute"
        if "Generator" in type_:
            return f"`{argument.name}` is a Generator"
    for result in operator._schema.returns:
        if str(result.type) == "List[Tensor]":
            return "a result is a list of tensors"
        if str(result.type) != "Tensor":
            return f"a result is a {result.type}"
    return ""
