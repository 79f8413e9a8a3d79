"""Operators with NPU kernels of their own, for ops.yaml."""

import torch

LIBRARY = torch.library.Library("composed", "DEF")
MARKS = []


def define(schema, kernel, meta=torch.empty_like):
    name = schema.split("(")[0]
    LIBRARY.define(schema)
    LIBRARY.impl(name, meta, "Meta")
    LIBRARY.impl(name, kernel, "PrivateUse1")


# npugraph_ex takes `renamed_` for the in-place form of `renamed`, and may call it in its place.
define("renamed(Tensor x) -> Tensor", lambda x: x + 1)
define("renamed_(Tensor(a!) x) -> ()", lambda x: None, lambda x: None)
define("plain(Tensor x) -> Tensor", lambda x: x + 1)


def start_of_storage(x):
    x.as_strided(x.shape, x.stride(), 0).add_(1)


define("start_of_storage(Tensor(a!) x) -> ()", start_of_storage, lambda x: None)


def add_one_(x):
    x.add_(1)


define("plain_too_(Tensor(a!) x) -> ()", add_one_, lambda x: None)


def no_weights(x, y):
    if y.requires_grad:
        raise ValueError("y must not be a weight")
    return torch.empty_like(x)


define("no_weights(Tensor x, Tensor y) -> Tensor", torch.add, no_weights)


def no_inference_mode(x):
    if torch.is_inference_mode_enabled():
        raise ValueError("not in inference mode")
    return x + 1


define("no_inference_mode(Tensor x) -> Tensor", no_inference_mode)


def refuses_the_same(x, y):
    if x.data_ptr() == y.data_ptr():
        raise ValueError("x and y must not be the same")
    return x + y


define("refuses_the_same(Tensor x, Tensor y) -> Tensor", refuses_the_same, lambda x, y: torch.empty_like(x))


def after_another(x):
    if not torch.npu.is_current_stream_capturing():
        MARKS.clear()
    return x + (MARKS.pop() if MARKS else 1)


def leaves_a_mark(x):
    if torch.npu.is_current_stream_capturing():
        MARKS.append(2)
    return x + 1


define("after_another(Tensor x) -> Tensor", after_another)
define("leaves_a_mark(Tensor x) -> Tensor", leaves_a_mark)


def writes_and_gives(x, y):
    x.add_(y)
    return y * 2


define(
    "writes_and_gives(Tensor(a!) x, Tensor y) -> Tensor", writes_and_gives, lambda x, y: torch.empty_like(y)
)


def rows(x, n):
    return x[:1].expand(n, 8) + 1


define("symbol_fixed(Tensor x, SymInt n) -> Tensor", rows, lambda x, n: x.new_empty((int(n), 8)))
define("symbol_kept(Tensor x, SymInt n) -> Tensor", rows, lambda x, n: x.new_empty((n, 8)))
define(
    "guarded(Tensor x, int n, float f, SymInt[] sizes) -> Tensor",
    lambda x, n, f, sizes: x * n + f * sum(sizes),
    lambda x, n, f, sizes: torch.empty_like(x),
)


def borrows(x, y):
    """Use the memory of y for a moment; x may be y, but not a part of it."""
    if x.data_ptr() == y.data_ptr():
        return x + y
    kept = y.clone()
    y.zero_()
    result = x + kept
    y.copy_(kept)
    return result


define("borrows(Tensor x, Tensor y) -> Tensor", borrows, lambda x, y: torch.empty_like(x))
