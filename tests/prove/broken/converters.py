"""Operators with right Meta kernels and the converters of converters.yaml, as somebody might write them."""

import torch

import torch_npu  # isort: skip  # noqa: F401 - makes `import torchair` find the one inside torch_npu
import torchair  # isort: skip
from torchair import ge  # isort: skip
from torchair._ge_concrete_graph import ge_apis  # isort: skip

LIBRARY = torch.library.Library("converted", "DEF")
_TWO = "(Tensor x, Tensor y, int n, float f) -> (Tensor, Tensor)"
_IN_PLACE = "(Tensor(a!) x, Tensor y) -> Tensor"


def define(schema, meta):
    LIBRARY.define(schema)
    LIBRARY.impl(schema.split("(")[0], meta, "Meta")


for name in (
    "fine", "wrong_output", "swapped_inputs", "wrong_attribute", "ignores_attribute", "one_value_only",
    "misspelt_ir", "wrong_ir",
):  # fmt: skip
    define(name + _TWO, lambda x, y, n, f: (torch.empty_like(x), torch.empty_like(y)))
for name in ("fine_", "no_node", "no_reference_output", "renamed_output", "node_after"):
    define(name + _IN_PLACE, lambda x, y: torch.empty_like(y))
for name in ("missing", "raises"):
    define(name + "(Tensor x) -> Tensor", torch.empty_like)


def two(x, y, n, f, ir="Fine"):
    return ge.custom_op(
        ir,
        inputs={"x": x, "y": y},
        attrs={"n": ge.attr.Int(n), "f": ge.attr.Float(f)},
        outputs=["a", "b"],
    )


def in_place(ir, x, y, outputs):
    return ge.custom_op(ir, inputs={"x": x, "y": y}, attrs={}, outputs=outputs)


def register():
    ops = torch.ops.converted
    converter = torchair.register_fx_node_ge_converter

    @converter(ops.fine.default)
    def fine(x, y, n, f, meta_outputs=None):
        return two(x, y, n, f)

    @converter(ops.wrong_output.default)
    def wrong_output(x, y, n, f, meta_outputs=None):
        a, b = two(x, y, n, f)
        return b, a

    @converter(ops.swapped_inputs.default)
    def swapped_inputs(x, y, n, f, meta_outputs=None):
        return two(y, x, n, f)

    @converter(ops.wrong_attribute.default)
    def wrong_attribute(x, y, n, f, meta_outputs=None):
        return two(x, y, n + 1, f)

    @converter(ops.ignores_attribute.default)
    def ignores_attribute(x, y, n, f, meta_outputs=None):
        return two(x, y, n, 0.5)

    @converter(ops.one_value_only.default)
    def one_value_only(x, y, n, f, meta_outputs=None):
        if n != 3:
            raise ValueError("n is 3")
        return two(x, y, n, f)

    @converter(ops.misspelt_ir.default)
    def misspelt_ir(x, y, n, f, meta_outputs=None):
        return two(x, y, n, f, ir="Fnie")

    @converter(ops.no_node.default)
    def no_node(x, y, meta_outputs=None):
        return ge_apis.Identity(y)

    @converter(ops.wrong_ir.default)
    def wrong_ir(x, y, n, f, meta_outputs=None):
        return two(x, y, n, f, ir="Other")

    @converter(ops.raises.default)
    def raises(x, meta_outputs=None):
        raise ValueError("this converter is not finished")

    @converter(ops.fine_.default)
    def fine_(x, y, meta_outputs=None):
        return in_place("InPlace", x, y, ["x", "z"])[1]

    @converter(ops.no_reference_output.default)
    def no_reference_output(x, y, meta_outputs=None):
        return in_place("NoReference", x, y, ["z"])

    @converter(ops.renamed_output.default)
    def renamed_output(x, y, meta_outputs=None):
        return in_place("InPlace", x, y, ["x_new", "z"])[1]

    @converter(ops.node_after.default)
    def node_after(x, y, meta_outputs=None):
        _, z = in_place("InPlace", x, y, ["x", "z"])
        return ge_apis.Identity(z)


register()
