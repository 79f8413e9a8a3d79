"""Functions of cases: models that give a size to a host argument, or two views of one tensor."""

import torch

KERNELS, GE = torch.ops.catalogue_kernel, torch.ops.catalogue_ge


def value_guard_wrong(x, n):
    return KERNELS.value_guard_wrong(x, 2 * x.shape[0])


def value_guard(x, n):
    return KERNELS.value_guard(x, 2 * x.shape[0])


def list_guard_wrong(x, n):
    return KERNELS.list_guard_wrong(x, [x.shape[0], 2])


def list_guard(x, n):
    return KERNELS.list_guard(x, [x.shape[0], 2])


def size_as_attribute_wrong(x, n):
    return GE.size_as_attribute_wrong(x, x.shape[0])


def size_as_attribute(x, n):
    return GE.size_as_attribute(x, x.shape[0])


def written_views_wrong(x, c):
    GE.written_views_wrong(x[:2], x[2:])
    return x + c


def written_views(x, c):
    GE.written_views(x, c)
    return x + c
