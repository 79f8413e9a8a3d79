"""mylib::my_op in the npugraph_ex graph.

Run it with `opkit run run_npugraph_ex.py`: on CANN, or on opkit's stand-in where there is none.
"""

from pathlib import Path

import mylib_my_op  # noqa: F401 - registers the operator, its Meta kernel and its GE converter
import torch
import torch_npu  # noqa: F401
from reference import my_op as reference
from torch.utils._pytree import tree_map_only

from opkit.evidence import use_references, watch_npugraph_ex


def make_inputs():
    return {
        "x": torch.rand(4, 8),
        "y": torch.rand(4, 8),
        "z": [torch.rand(4, 8), torch.rand(4, 8)],
        "attr1": 2.0,
        "attr2": 5,
    }


def to(device, values):
    """Copy the tensors among some values to a device."""
    return tree_map_only(torch.Tensor, lambda tensor: tensor.to(device, copy=True), values)


def model(x, y, z, attr1, attr2):
    return torch.ops.mylib.my_op.default(x, y, z, attr1, attr2)


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
    print(f"results equal the reference (runtime: {runtime})")


if __name__ == "__main__":
    main()
