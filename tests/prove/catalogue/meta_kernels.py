"""The Meta kernels of meta_kernels.yaml, as somebody might write them; each has an operator of its name."""

import gc
from pathlib import Path

import torch
import yaml

LIBRARY = torch.library.Library("catalogue_meta", "DEF")
new = torch.empty_like


def nothing(*args):
    return None


def twice(x):
    return new(x), new(x)


def half(x):
    return x.new_empty((x.shape[0], x.shape[1] // 2))


def root(x):
    return new(x), new(x, dtype=torch.float32)  # The inverse root is kept in float32, whatever the input is.


def in_steps_of_4(x):
    if x.shape[1] % 4:
        raise ValueError("the last dim must be divisible by 4")
    return new(x)


META = {
    "steps": in_steps_of_4,
    "present": new,
    "early": new,
    "kept": new,
    "default_missing_wrong": lambda x, n, f: new(x),
    "default_missing": lambda x, n=1, f=True: new(x),
    "default_differs_wrong": lambda x, layout=1: new(x),
    "default_differs": lambda x, layout="BSND": new(x),
    "parameter_missing_wrong": lambda x, group, rank: new(x),
    "parameter_missing": lambda first, other, group, rank: new(first),
    "keyword_missing_wrong": lambda x: new(x),
    "keyword_missing": lambda x, *, shared=None: new(x),
    "keyword_renamed_wrong.out": lambda x, *, out: None,
    "keyword_renamed.out": lambda x, *, result: None,
    "parameter_added_wrong": lambda x, y: new(x),
    "parameter_added": lambda x: new(x),
    "returns_input_wrong": lambda x: x,
    "returns_input": new,
    "returns_inputs_wrong": lambda q, k: (q, k),
    "returns_inputs": lambda q, k: (new(q), new(k)),
    "returns_view_wrong": lambda x: x.view(x.shape),
    "returns_view": new,
    "shares_results_wrong": lambda x: (new(x),) * 2,
    "shares_results": twice,
    "result_missing_wrong": new,
    "result_missing": twice,
    "result_none_wrong": lambda x: (new(x), None),
    "result_none": lambda x: list(twice(x)),
    "two_for_one_wrong": twice,
    "two_for_one": new,
    "value_for_nothing_wrong": lambda x: x,
    "value_for_nothing": nothing,
    "on_cpu_wrong": lambda x: torch.zeros(x.shape, dtype=x.dtype),
    "on_cpu": lambda x: torch.zeros(x.shape, dtype=x.dtype, device=x.device),
    "dtype_wrong": twice,
    "dtype": root,
    "shape_wrong": new,
    "shape": half,
    "strides_wrong": new,
    "strides": lambda x: x.new_empty(x.shape),
    "dtype_number_wrong": lambda x, dtype=39: x.new_empty(x.shape, dtype=dtype),
    "dtype_number": lambda x, dtype=torch.half: x.new_empty(x.shape, dtype=dtype),
    "fixes_size_wrong": lambda x: x.new_empty((int(x.shape[0]), x.shape[1])),
    "fixes_size": new,
    "fixes_sizes_wrong": lambda x: x.new_empty(tuple(map(int, x.shape))),
    "fixes_sizes": lambda x: x.new_empty(tuple(x.shape)),
    "branches_wrong": lambda x: x.new_empty((x.shape[0] if x.shape[0] > 8 else 8, 2)),
    "branches": lambda x: x.new_empty((torch.sym_max(x.shape[0], 8), 2)),
    "reads_value_wrong": lambda x: x.new_empty((int(x.sum().item()), 2)),
    "reads_value": lambda x, n: x.new_empty((n, 2)),
}
FAKE = {
    "fake_on_cpu_wrong": lambda x: torch.empty(x.shape, dtype=x.dtype),
    "fake_on_cpu": lambda x: torch.empty(x.shape, dtype=x.dtype, device=x.device),
    "size_from_data_wrong": lambda x: x.new_empty(torch.library.get_ctx().new_dynamic_size()),
    "size_from_data": lambda x: (x.new_empty(x.shape[0]), x.new_empty((1,), dtype=torch.int64)),
}
KERNELS = {
    "dtype": lambda x: (x + 1, x.float().abs().rsqrt()),
    "shape": lambda x: x[:, : x.shape[1] // 2] + 1,
    # It makes its input contiguous, so the result does not have the strides of a transposed one.
    "strides": lambda x: torch.empty(x.shape, dtype=x.dtype, device=x.device).copy_(x),
    "dtype_number": lambda x, dtype=torch.half: x.to(dtype, copy=True),
}


def define():
    for entry in yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text())["custom"]:
        schema = entry["func"].removeprefix("catalogue_meta::")
        name = schema.partition("(")[0]
        library = torch.library.Library("catalogue_meta", "FRAGMENT") if name == "kept_wrong" else LIBRARY
        library.define(schema)
        if name in META:
            library.impl(name, META[name], "Meta")
        if name in FAKE:
            torch.library.register_fake(f"catalogue_meta::{name}", FAKE[name])
        if name.removesuffix("_wrong") in KERNELS:
            library.impl(name, KERNELS[name.removesuffix("_wrong")], "PrivateUse1")


define()
gc.collect()
# One has no Meta kernel yet when a model is compiled for the first time.
for each in ("early", "early_wrong"):
    LIBRARY.impl(each, torch.clone, "CPU")
    torch.compile(getattr(torch.ops.catalogue_meta, each), backend="eager")(torch.ones(2))
LIBRARY.impl("early_wrong", new, "Meta")
