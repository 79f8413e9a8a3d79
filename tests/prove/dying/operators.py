"""Kernels that take their process with them, and one that does not."""

import os
import sys
import time

import torch

LIBRARY = torch.library.Library("dying", "DEF")
print("noise on standard output")


def crashes(x):
    sys.stderr.write("last words of the kernel\n")
    sys.stderr.flush()
    os.abort()


def hangs(x):
    time.sleep(600)


def eats(x):
    # Not zeros: the system gives memory for those only when they are written.
    eaten = [b"x" * 2**24 for _ in range(600)]
    time.sleep(600)
    return x.new_full(x.shape, len(eaten))


KERNELS = {"crashes": crashes, "hangs": hangs, "eats": eats, "survives": torch.relu}
for name, kernel in KERNELS.items():
    LIBRARY.define(name + "(Tensor x) -> Tensor")
    LIBRARY.impl(name, torch.empty_like, "Meta")
    LIBRARY.impl(name, kernel, "PrivateUse1")
