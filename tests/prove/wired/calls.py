"""Functions of cases, which do something around the operator."""

import torch


def called(x, z, n):
    return torch.ops.wired.called(x + 1, z, n) * 2


def called_and_right(x, z, n):
    return torch.ops.wired.called_and_right(x + 1, z, n) * 2
