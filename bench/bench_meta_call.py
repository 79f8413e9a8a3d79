from __future__ import annotations

import os

from bench.measure import Result, compare

PROMISE = "a generated Meta kernel is called as fast as one written by hand"

CALLS = 5_000
DECLARATION = """custom:
  - func: bench::generated(Tensor x, Tensor y) -> Tensor
    meta: {out: {size: x, dtype: x}}
"""


def measure() -> Result:
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    import torch

    from opkit.read import read_text
    from opkit.registration import register

    op_file, _ = read_text(DECLARATION, "ops.yaml")
    assert op_file is not None
    register(op_file)
    library = torch.library.Library("bench", "FRAGMENT")
    library.define("by_hand(Tensor x, Tensor y) -> Tensor")
    library.impl("by_hand", lambda x, y: x.new_empty(x.shape), "Meta")
    x = torch.empty(4, 8, device="meta")

    def calls(operator: torch._ops.OpOverload) -> None:
        for _ in range(CALLS):
            operator(x, x)

    generated, by_hand = torch.ops.bench.generated.default, torch.ops.bench.by_hand.default
    return compare(lambda: calls(generated), lambda: calls(by_hand), limit=1.3)
