"""Debugging options of torchair that were left on: everything runs, nothing reaches GE."""

import os
import tempfile

import torch

import torch_npu  # isort: skip  # noqa: F401 - makes `import torchair` find the one inside torch_npu
import torchair  # isort: skip

LIBRARY = torch.library.Library("silent", "DEF")
OPTIONS = ("run_eagerly", "fx_summary", "data_dump", "no_option")
# The operator whose Meta kernel ran last: the one that is compiled next.
LAST = [""]
os.chdir(tempfile.mkdtemp())  # Two of the options write files.


def define(name):
    def meta(x):
        LAST[0] = name
        return torch.empty_like(x)

    LIBRARY.define(name + "(Tensor x) -> Tensor")
    LIBRARY.impl(name, meta, "Meta")
    ir = "".join(word.capitalize() for word in name.split("_"))

    @torchair.register_fx_node_ge_converter(getattr(torch.ops.silent, name).default)
    def convert(x, meta_outputs=None):
        return torchair.ge.custom_op(ir, inputs={"x": x}, attrs={}, outputs=["y"])


for each in OPTIONS:
    define(each)
backend_as_it_is = torchair.get_npu_backend


def backend_with_option(*, compiler_config, **settings):
    debug = compiler_config.debug
    if LAST[0] == "run_eagerly":
        debug.run_eagerly = True
    elif LAST[0] == "fx_summary":
        debug.fx_summary.type = "csv"
    elif LAST[0] == "data_dump":
        debug.data_dump.type = "npy"
    return backend_as_it_is(compiler_config=compiler_config, **settings)


torchair.get_npu_backend = backend_with_option
