"""The converters of ge_nodes.yaml, as somebody might write them; each has an operator of its name."""

from pathlib import Path

import torch
import yaml

import torch_npu  # isort: skip  # noqa: F401 - makes `import torchair` find the one inside torch_npu
import torchair  # isort: skip
from torchair import ge  # isort: skip
from torchair._ge_concrete_graph import ge_apis  # isort: skip

LIBRARY = torch.library.Library("catalogue_ge", "DEF")
new = torch.empty_like


def node(ir, outputs=("y",), attrs=(), **inputs):
    return ge.custom_op(ir, inputs=inputs, attrs=dict(attrs), outputs=list(outputs))


def written(ir):
    def convert(x, c, meta_outputs=None):
        node(ir, ("c",), x=x, c=c)

    return convert


def separately(x, c, meta_outputs=None):
    node("WrittenElsewhere", ("c_new",), x=x, c=c)


def something_after(x, c, meta_outputs=None):
    _, y = node("LastNode", ("c", "y"), x=x, c=c)
    return ge_apis.Identity(y)


def last(x, c, meta_outputs=None):
    return node("LastNode", ("c", "y"), x=x, c=c)[1]


def with_other_names(x, cache, meta_outputs=None):
    node("ParameterNames", ("c",), x=x, c=cache)


def needs_meta_outputs(x, c, meta_outputs):
    node("MetaOutputs", ("c",), x=x, c=c)


def returns_what_it_writes(x, c, meta_outputs=None):
    return node("ResultCount", ("c", "y"), x=x, c=c)


def returns_fresh_one(x, c, meta_outputs=None):
    return node("ResultCount", ("c", "y"), x=x, c=c)[1]


def if_given(x, c=None, meta_outputs=None):
    return node("WrittenNone", ("c", "y"), x=x, c=c)[1]


def both(x, c, meta_outputs=None):
    node("WrittenViews", ("x", "c"), x=x, c=c)


def with_attributes(ir, a, b):
    return lambda x, m, n, meta_outputs=None: node(ir, attrs={a: ge.attr.Int(m), b: ge.attr.Int(n)}, x=x)


def size_as_attribute(x, n, meta_outputs=None):
    return node("SizeAsInput", attrs={"n": ge.attr.Int(n)}, x=x)


def size_as_input(x, n, meta_outputs=None):
    n = n if isinstance(n, ge.Tensor) else ge.Const(n, dtype=ge.DataType.DT_INT64)
    return node("SizeAsInput", x=x, n=n)


def plain(ir):
    return lambda x, meta_outputs=None: node(ir, x=x)


def without_default(x, n, meta_outputs=None):
    return node("DefaultMissing", attrs={"n": ge.attr.Int(n)}, x=x)


def with_default(x, n=3, meta_outputs=None):
    return node("DefaultMissing", attrs={"n": ge.attr.Int(n)}, x=x)


def name_of_device(x, device, meta_outputs=None):
    return node("DeviceArgument", attrs={"device": ge.attr.Str(device)}, x=x)


# name -> (Meta kernel, converter or None).
OPERATORS = {
    "missing_wrong": (new, None),
    "missing": (new, plain("Missing")),
    "latent_wrong": (new, None),
    "latent": (new, plain("Latent")),
    "overload_wrong.value": (new, None),
    "overload.value": (new, plain("Overload")),
    "host_callback_wrong": (new, plain("catalogue_ge__host_callback")),
    "host_callback": (new, plain("HostCallback")),
    "attribute_order_wrong": (lambda x, m, n: new(x), with_attributes("AttributeOrder", "n", "m")),
    "attribute_order": (lambda x, m, n: new(x), with_attributes("AttributeOrder", "m", "n")),
    "size_as_attribute_wrong": (lambda x, n: new(x), size_as_attribute),
    "size_as_attribute": (lambda x, n: new(x), size_as_input),
    "default_missing_wrong": (lambda x, n=3: new(x), without_default),
    "default_missing": (lambda x, n=3: new(x), with_default),
    "unknown_dtype_wrong": (new, plain("UnknownDtype")),
    "unknown_dtype": (new, plain("UnknownDtype")),
    "device_argument_wrong": (lambda x, device: new(x), name_of_device),
    "device_argument": (lambda x, device: new(x), name_of_device),
    "output_dtype_wrong": (new, lambda x, meta_outputs=None: ge_apis.Cast(
        node("OutputDtype", x=x), dst_type=ge.DataType.DT_FLOAT)),
    "output_dtype": (new, plain("OutputDtype")),
    "output_shape_wrong": (new, lambda x, meta_outputs=None: ge_apis.Unsqueeze(
        node("OutputShape", x=x), axes=[0])),
    "output_shape": (new, plain("OutputShape")),
    "written_elsewhere_wrong": (lambda x, c: None, separately),
    "written_elsewhere": (lambda x, c: None, written("WrittenElsewhere")),
    "last_node_wrong": (lambda x, c: new(x), something_after),
    "last_node": (lambda x, c: new(x), last),
    "parameter_names_wrong": (lambda x, c: None, with_other_names),
    "parameter_names": (lambda x, c: None, written("ParameterNames")),
    "meta_outputs_wrong": (lambda x, c: None, needs_meta_outputs),
    "meta_outputs": (lambda x, c: None, written("MetaOutputs")),
    "result_count_wrong": (lambda x, c: new(x), returns_what_it_writes),
    "result_count": (lambda x, c: new(x), returns_fresh_one),
    "written_list_wrong": (lambda x, c: None, written("WrittenList")),
    "written_list": (lambda x, c: None, written("WrittenList")),
    "written_none_wrong": (lambda x, c=None: new(x), if_given),
    "written_none": (lambda x, c=None: new(x), if_given),
    "written_views_wrong": (lambda x, c: None, both),
    "written_views": (lambda x, c: None, both),
}  # fmt: skip


def define():
    entries = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text())["custom"]
    for schema in (entry["func"].removeprefix("catalogue_ge::") for entry in entries):
        name = schema.partition("(")[0]
        short, _, overload = name.partition(".")
        meta, converter = OPERATORS[name]
        LIBRARY.define(schema)
        LIBRARY.impl(name, meta, "Meta")
        if converter is not None:
            operator = getattr(getattr(torch.ops.catalogue_ge, short), overload or "default")
            torchair.register_fx_node_ge_converter(operator)(converter)


define()
