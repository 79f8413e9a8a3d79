"""Operators and converters of converters.yaml."""

import torch

import torch_npu  # isort: skip  # noqa: F401 - makes `import torchair` find the one inside torch_npu
import torchair  # isort: skip
from torchair import ge  # isort: skip

LIBRARY = torch.library.Library("converted_once", "DEF")
for name in ("fixed_name", "by_tensor", "twin"):
    LIBRARY.define(name + "(Tensor x, Tensor y) -> Tensor")
    LIBRARY.impl(name, lambda x, y: torch.empty_like(x), "Meta")
OPS = torch.ops.converted_once


@torchair.register_fx_node_ge_converter(OPS.fixed_name.default)
def fixed_name(x, y, meta_outputs=None):
    return ge.custom_op(
        "FixedName", inputs={"x": x, "y": y}, attrs={}, outputs=["out"], node_name="FixedNameOfTheNode"
    )


@torchair.register_fx_node_ge_converter(OPS.by_tensor.default)
def by_tensor(x, y, meta_outputs=None):
    # Loses `x` when both are the same tensor.
    names = {x: "x", y: "y"}
    return ge.custom_op(
        "ByTensor", inputs={name: tensor for tensor, name in names.items()}, attrs={}, outputs=["out"]
    )


@torchair.register_fx_node_ge_converter(OPS.twin.default)
def twin(x, y, meta_outputs=None):
    return ge.custom_op("Twin", inputs={"x": x, "y": y}, attrs={}, outputs=["out"])
