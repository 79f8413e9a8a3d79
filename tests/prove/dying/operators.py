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


for name, kernel in (("crashes", crashes), ("hangs", hangs), ("survives", torch.relu)):
    LIBRARY.define(name + "(Tensor x) -> Tensor")
    LIBRARY.impl(name, torch.empty_like, "Meta")
    LIBRARY.impl(name, kernel, "PrivateUse1")
