"""Asks torch.library.opcheck about operators of the catalogue, with their kernels on the CPU."""

import sys
from pathlib import Path

from opkit.cann.load import ensure_runtime

ensure_runtime(True)
sys.path.insert(0, str(Path(__file__).parent))
import kernels  # noqa: E402
import meta_kernels  # noqa: E402
import torch  # noqa: E402

CPU = {
    "fixes_size_wrong": lambda x: x.clone(),
    "only_read_wrong": lambda x, c: x + c,
    "item_wrong": lambda x: x * x.sum().item(),
}

for name in sys.argv[1:]:
    library = meta_kernels.LIBRARY if name in meta_kernels.META else kernels.LIBRARY
    library.impl(name, CPU[name], "CPU")
    operator = getattr(getattr(torch.ops, library.ns), name).default
    inputs = [torch.randn(3, 5) for _ in operator._schema.arguments]
    found = torch.library.opcheck(operator, inputs, raise_exception=False)
    wrong = {test: result for test, result in found.items() if result != "SUCCESS"}
    print(f"{name}: {wrong or 'passes'}")
