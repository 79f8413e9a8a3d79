"""Operators with NPU kernels of their own, for ops.yaml."""

import torch

LIBRARY = torch.library.Library("varied", "DEF")


def define(schema, meta, kernel):
    name = schema.split("(")[0]
    LIBRARY.define(schema)
    LIBRARY.impl(name, meta, "Meta")
    LIBRARY.impl(name, kernel, "PrivateUse1")


# Right up to 15 rows.
define("large_sizes(Tensor x) -> Tensor", torch.empty_like, lambda x: (x + 1)[:15].clone())
define(
    "flag_ignored(Tensor x, bool flag) -> Tensor",
    lambda x, flag: torch.empty_like(x),
    lambda x, flag: x.half() if flag else x + 1,
)
define(
    "optional_ignored(Tensor x, Tensor? y) -> Tensor",
    lambda x, y: x.new_empty((x.shape[0], 4)),
    lambda x, y: x + 1 if y is None else y + 1,
)
define("empty(Tensor x) -> Tensor", torch.empty_like, lambda x: x + 1 if len(x) else x.new_zeros((1, 8)))


def writes_alone(x):
    if len(x) == 1:
        x.add_(1)
    return x + 1


define("writes_alone(Tensor x) -> Tensor", torch.empty_like, writes_alone)


def twin_meta(x, y, flag):
    return x.new_empty((x.shape[0], 8 if y is None else 4), dtype=torch.float16 if flag else None)


def twin(x, y, flag):
    result = x + 1 if y is None else y + 1
    return result.half() if flag else result


define("twin(Tensor x, Tensor? y, bool flag) -> Tensor", twin_meta, twin)
