"""The registrations of ops.yaml, as somebody might write them by hand."""

import random

import torch

LIBRARY = torch.library.Library("broken", "DEF")


def define(schema, meta=None, kernel=None):
    LIBRARY.define(schema)
    name = schema.split("(")[0]
    if meta is not None:
        LIBRARY.impl(name, meta, "Meta")
    if kernel is not None:
        LIBRARY.impl(name, kernel, "PrivateUse1")


define(
    "fine(Tensor x, Tensor y, int n, float f) -> (Tensor, Tensor)",
    lambda x, y, n, f: (torch.empty_like(x), torch.empty_like(y)),
)
define("fine_(Tensor(a!) x, Tensor y) -> Tensor", lambda x, y: torch.empty_like(y))

define("returns_mutated(Tensor(a!) x) -> Tensor(a!)", lambda x: x)

define("no_meta(Tensor x) -> Tensor")
define("returns_input(Tensor x) -> Tensor", lambda x: x)
define("wrong_dtype(Tensor x) -> Tensor", lambda x: torch.empty_like(x, dtype=torch.float32))
define("wrong_shape(Tensor x) -> Tensor", torch.empty_like)
define("hard_coded(Tensor x) -> Tensor", lambda x: x.new_empty((5, x.shape[1])))
define("small_sizes(Tensor x) -> Tensor", torch.empty_like)


def in_steps_of_4(x):
    if x.shape[0] % 4:
        raise ValueError("the first dim must be divisible by 4")
    return x.new_empty((4, x.shape[1]))


define("hard_coded_in_one_size(Tensor x) -> Tensor", in_steps_of_4)
define("one_for_two(Tensor x) -> (Tensor, Tensor)", torch.empty_like)
define("fails_when_replayed(Tensor x) -> Tensor", lambda x: x.new_empty((x.shape[0], 3)))
define("wrong_count(Tensor x) -> (Tensor, Tensor)", lambda x: (torch.empty_like(x),) * 1)
define("no_default(Tensor x, int n=1) -> Tensor", lambda x, n: torch.empty_like(x))


@torch.library.custom_op(
    "broken::other_default", mutates_args=(), device_types="npu", schema="(Tensor x, int n=1) -> Tensor"
)
def other_default(x, n):
    return x.clone()


@other_default.register_fake
def _(x, n=2):
    return torch.empty_like(x)


define("fixed_size(Tensor x) -> Tensor", lambda x: x.new_empty((int(x.shape[0]), x.shape[1])))
define("branches(Tensor x) -> Tensor", lambda x: x.new_empty((2 if x.shape[0] > 8 else 1, x.shape[1])))


def resizes(x):
    x.unsqueeze_(0)
    return torch.empty_like(x)


define("resizes(Tensor(a!) x) -> Tensor", resizes)

LIBRARY.define("wrong_device(Tensor x) -> Tensor")
torch.library.register_fake(
    "broken::wrong_device", lambda x: torch.empty(x.shape, dtype=x.dtype, device="cpu")
)

# A model is compiled while the module is imported, before the Meta kernel is there.
define("late_meta(Tensor x) -> Tensor")
LIBRARY.impl("late_meta", torch.clone, "CPU")
torch.compile(lambda x: torch.ops.broken.late_meta(x), backend="eager")(torch.ones(2))
LIBRARY.impl("late_meta", torch.empty_like, "Meta")


def writes_argument(x):
    x.add_(1)
    return torch.empty_like(x)


define("writes_argument(Tensor x) -> Tensor", torch.empty_like, writes_argument)
define("writes_nothing(Tensor(a!) x, Tensor y) -> Tensor", lambda x, y: torch.empty_like(y))
define("kernel_returns_input(Tensor x) -> Tensor", torch.empty_like, lambda x: x.view(-1).view(x.shape))
define(
    "other_strides(Tensor x) -> Tensor", torch.empty_like, lambda x: torch.empty_like(x.t().contiguous()).t()
)

LIBRARY.define("decomposes(Tensor x) -> Tensor")
LIBRARY.impl("decomposes", lambda x: x.sin() + 1, "CompositeImplicitAutograd")
define("effect_only(Tensor x) -> ()", lambda x: None, lambda x: None)
define("graph_break(Tensor x) -> Tensor", torch.empty_like)
define("called_mode(Tensor(a!) x, str mode) -> ()", lambda x, mode: None)
define("never_called(Tensor x) -> Tensor", torch.empty_like)
define("recompiles(Tensor x) -> Tensor", torch.empty_like)
define("launches_nothing(Tensor x) -> Tensor", torch.empty_like, torch.empty_like)


def synchronises(x):
    return x * x.sum().item()


define("synchronises(Tensor x) -> Tensor", torch.empty_like, synchronises)
define("wrong_values(Tensor x) -> Tensor", torch.empty_like, lambda x: x + 2)


# ---- right for the first set of sizes, the first dtype, the first call or contiguous inputs only


def other_shape_in_one_size(x):
    return x + 1 if x.shape[0] == 5 else (x + 1).flatten()


def returns_input_in_one_size(x):
    return x + 1 if x.shape[0] != 13 else x


CALLS = []


def writes_argument_later(x):
    CALLS.append(1)
    result = x + 1
    if len(CALLS) > 2:
        x.zero_()
    return result


define("other_shape_in_one_size(Tensor x) -> Tensor", torch.empty_like, other_shape_in_one_size)
define("returns_input_in_one_size(Tensor x) -> Tensor", torch.empty_like, returns_input_in_one_size)
define("writes_argument_later(Tensor x) -> Tensor", torch.empty_like, writes_argument_later)
define("host_random(Tensor x) -> Tensor", torch.empty_like, lambda x: x + random.random())
define(
    "meta_of_one_dtype(Tensor x) -> Tensor",
    lambda x: torch.empty_like(x, dtype=torch.float16),
    lambda x: x + 1,
)
define(
    "strides_of_input(Tensor x) -> Tensor",
    lambda x: x.new_empty(x.shape),
    lambda x: torch.empty_like(x).copy_(x),
)
define("absolute(Tensor x) -> Tensor", torch.empty_like, torch.abs)

define("root(Tensor x) -> Tensor", torch.empty_like)


def clamp_(x):
    x.clamp_(max=10)


define("clamp_(Tensor(a!) x) -> ()", lambda x: None, clamp_)
define("relu_(Tensor(a!) x) -> ()", lambda x: None)
define("draws(Tensor x) -> Tensor", torch.empty_like, lambda x: x + torch.rand_like(x))


def captured():
    return torch.npu.is_current_stream_capturing()


define("none_written(Tensor x, Tensor(a!)? y) -> ()", lambda x, y: None)
define(
    "other_when_captured(Tensor x) -> Tensor",
    torch.empty_like,
    lambda x: x + (123 if captured() else 1),
)
define(
    "other_shape_when_captured(Tensor x) -> Tensor",
    torch.empty_like,
    lambda x: (x + 1).flatten() if captured() and x.shape[0] != 5 else x + 1,
)
