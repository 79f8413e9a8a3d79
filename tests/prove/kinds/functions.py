import torch


def kw_only(x, *, scale, dtype, flag, layout):
    if scale < 0:
        raise ValueError("scale must not be negative")
    return x.to(dtype) * scale, x[..., : x.shape[-1] // 2]


def writes_only(x, y):
    x += y.sum()


def writes_two(x, y, z):
    x += z.sum()
    y *= 2
    return z + 1, z * 3


def list_of_results_meta(x):
    return [torch.empty_like(x), x.new_empty((2, x.shape[0]))]


def list_of_results(x):
    return [x + 1, x[:, :2].t()]


def own_kernel(x):
    # The declared results are contiguous whatever the inputs are.
    return x.contiguous() * 2


def called_twice(x, y):
    return x + 2 * y


def call_twice(x, y):
    first = torch.ops.npu.called_twice(x, y)
    return torch.ops.npu.called_twice(first + 1, y)


def self_and_scalar(self, alpha):
    return self * alpha


def indexed(x, index):
    return x[:, 0][index]


def drop_result(x):
    torch.ops.npu.effect_dropped(x)
    return x + 1
