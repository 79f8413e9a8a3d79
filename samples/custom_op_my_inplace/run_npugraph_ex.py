"""mylib::my_op_ in the npugraph_ex graph.

Run it with `opkit run run_npugraph_ex.py`: on CANN, or on opkit's stand-in where there is none.
"""

from pathlib import Path

import mylib_my_inplace  # noqa: F401 - registers the operator, its Meta kernel and its GE converter
import torch
import torch_npu  # noqa: F401
from reference import my_op_ as reference
from torch.utils._pytree import tree_map_only

from opkit.evidence import use_references, watch_npugraph_ex


def make_inputs():
    return {
        "x": torch.rand(4, 8),
        "y": torch.rand(4, 8),
    }


def to(device, values):
    """Copy the tensors among some values to a device."""
    return tree_map_only(torch.Tensor, lambda tensor: tensor.to(device, copy=True), values)


def model(x, y):
    return torch.ops.mylib.my_op_.default(x, y)


def main():
    torch.manual_seed(0)
    # On the stand-in the reference computes the operator; on CANN its own kernel does.
    runtime = use_references(Path(__file__).with_name("ops.yaml"))
    inputs = make_inputs()
    on_npu = to("npu", inputs)
    compiled = torch.compile(model, backend="npugraph_ex", fullgraph=True, dynamic=False)
    with watch_npugraph_ex() as seen:
        for step in ("first call", "second call"):
            results = compiled(**on_npu)
            expected = reference(**inputs)
            print(f"{step}: {seen.report()}")
    torch.testing.assert_close(to("cpu", results), expected)
    torch.testing.assert_close(on_npu["x"].cpu(), inputs["x"])
    print(f"results equal the reference (runtime: {runtime})")


if __name__ == "__main__":
    main()
