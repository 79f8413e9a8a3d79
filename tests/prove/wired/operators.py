"""Operators with right kernels whose converters write the node of ops.yaml in a way that only looks right."""

import torch

import torch_npu  # isort: skip  # noqa: F401 - makes `import torchair` find the one inside torch_npu
import torchair  # isort: skip
from torchair import ge  # isort: skip

LIBRARY = torch.library.Library("wired", "DEF")


def wire(schema, kernel, converter, meta=None):
    name = schema.split("(")[0]
    LIBRARY.define(schema)
    LIBRARY.impl(name, meta or (lambda x, *_: torch.empty_like(x)), "Meta")
    LIBRARY.impl(name, kernel, "PrivateUse1")
    torchair.register_fx_node_ge_converter(getattr(torch.ops.wired, name).default)(converter)


def node(ir, outputs=("y",), attrs=(), **inputs):
    return ge.custom_op(ir, inputs=inputs, attrs=dict(attrs), outputs=list(outputs))


def cast(x, *dtypes):
    for dtype in dtypes:
        x = ge.Cast(x, dst_type=dtype)
    return x


F32, F16, I32, I64 = (
    ge.DataType.DT_FLOAT, ge.DataType.DT_FLOAT16, ge.DataType.DT_INT32, ge.DataType.DT_INT64,
)  # fmt: skip


def one(name, converter):
    wire(f"{name}(Tensor x) -> Tensor", lambda x: x + 1, converter)


one("rounded_input", lambda x, meta_outputs=None: node("RoundedInput", x=cast(x, F16, F32)))
one("rounded_output", lambda x, meta_outputs=None: cast(node("RoundedOutput", x=x), I32, F32))
one("narrowed", lambda x, meta_outputs=None: node("Narrowed", x=cast(x, I32)))
one(
    "narrowed_and_compared",
    lambda x, meta_outputs=None: cast(node("NarrowedAndCompared", x=cast(x, I32)), I64),
)
one("widened", lambda x, meta_outputs=None: cast(node("Widened", x=cast(x, F32)), F16))


# The order of inputs and outputs, their names, and the kinds of attributes.
one("more_outputs", lambda x, meta_outputs=None: node("MoreOutputs", ("y", "z"), x=x)[0])
wire(
    "outputs_reversed(Tensor x) -> (Tensor, Tensor)",
    lambda x: (x + 1, x + 2),
    lambda x, meta_outputs=None: node("OutputsReversed", ("y1", "y0"), x=x)[::-1],
    lambda x: (torch.empty_like(x), torch.empty_like(x)),
)
wire(
    "inputs_reversed(Tensor x, Tensor y) -> Tensor",
    lambda x, y: x + y,
    lambda x, y, meta_outputs=None: node("InputsReversed", ("z",), y=y, x=x),
)


def write_both(x, y):
    x.add_(1)
    y.add_(2)


def convert_writes(x, y, meta_outputs=None):
    node("WritesReversed", ("y", "x"), x=x, y=y)


wire("writes_reversed(Tensor(a!) x, Tensor(b!) y) -> ()", write_both, convert_writes, lambda x, y: None)
Int, Bool, Float, ListInt = ge.attr.Int, ge.attr.Bool, ge.attr.Float, ge.attr.ListInt


def with_attributes(name, arguments, kernel, attributes):
    ir = "".join(word.capitalize() for word in name.split("_"))
    wire(
        f"{name}(Tensor x, {arguments}) -> Tensor",
        kernel,
        lambda x, *host, meta_outputs=None: node(ir, attrs=attributes(*host), x=x),
    )


with_attributes("bool_as_int", "bool n", lambda x, n: x + n, lambda n: {"n": Int(int(n))})
with_attributes("int_as_float", "int n", lambda x, n: x + n, lambda n: {"n": Float(float(n))})
with_attributes("more_attributes", "int n", lambda x, n: x + n, lambda n: {"n": Int(n), "k": Int(4)})


# Attributes that a case with equal values does not tell apart.
with_attributes(
    "swapped_numbers", "int a, int b", lambda x, a, b: x + a, lambda a, b: {"a": Int(b), "b": Int(a)}
)
with_attributes(
    "swapped_flags", "bool f, bool g", lambda x, f, g: x + f, lambda f, g: {"f": Bool(g), "g": Bool(f)}
)
with_attributes("reversed_list", "int[] a", lambda x, a: x + a[0], lambda a: {"a": ListInt(list(a)[::-1])})
with_attributes("flags", "bool f, bool g, bool h", lambda x, f, g, h: x + f,
                lambda f, g, h: {"f": Bool(f), "g": Bool(g), "h": Bool(h)})  # fmt: skip


# What a case with a function of its own does not show.
wire(
    "called(Tensor x, Tensor z, int n) -> Tensor",
    lambda x, z, n: x - z + n,
    lambda x, z, n, meta_outputs=None: node("Called", attrs={"n": Int(42)}, x=z, z=x),
)
wire(
    "called_and_right(Tensor x, Tensor z, int n) -> Tensor",
    lambda x, z, n: x - z + n,
    lambda x, z, n, meta_outputs=None: node("CalledAndRight", attrs={"n": Int(n)}, x=x, z=z),
)


# Optional inputs of which the cases show one side only.
def add_if_given(x, y=None):
    return x + 1 if y is None else x + y


def passes_what_it_has(x, y=None, meta_outputs=None):
    return node("GivenOnly", ("z",), x=x, y=x if y is None else y)


OPTIONAL = "(Tensor x, Tensor? y=None) -> Tensor"
wire(
    "drops_optional" + OPTIONAL,
    add_if_given,
    lambda x, y=None, meta_outputs=None: node("DropsOptional", ("z",), x=x),
)
wire("given_only" + OPTIONAL, add_if_given, passes_what_it_has)
wire(
    "optional_and_right" + OPTIONAL,
    add_if_given,
    lambda x, y=None, meta_outputs=None: node("OptionalAndRight", ("z",), x=x, y=y),
)


def must_be_none(x, y=None, meta_outputs=None):
    assert y is None, "y is for later"
    return node("OptionalRefused", ("z",), x=x, y=y)


wire("optional_refused" + OPTIONAL, add_if_given, must_be_none)


# Results without elements, in whose place torchair puts a constant.
TWO = "(Tensor x, Tensor y) -> Tensor"
wire("no_rows" + TWO, lambda x, y: x + y, lambda x, y, meta_outputs=None: node("NoRows", ("z",), x=x, y=y))
wire(
    "no_rows_and_swapped" + TWO,
    lambda x, y: x - y,
    lambda x, y, meta_outputs=None: node("NoRowsAndSwapped", ("z",), x=y, y=x),
)
