"""npu::my_inplace in the GE graph.

Run it with `opkit run run_ge.py`: on CANN, or on opkit's stand-in where there is none.
"""

from pathlib import Path

import my_inplace_ops  # noqa: F401 - registers the operator, its Meta kernel and its GE converter
import torch
import torch_npu  # noqa: F401
import torchair
from reference import my_inplace as reference
from torch.utils._pytree import tree_map_only

from opkit.evidence import use_references, watch_ge


def make_inputs():
    return {
        "x": torch.rand(4, 8),
        "y": torch.rand(4, 8),
    }


def to(device, values):
    """Copy the tensors among some values to a device."""
    return tree_map_only(torch.Tensor, lambda tensor: tensor.to(device, copy=True), values)


def model(x, y):
    return torch.ops.npu.my_inplace.default(x, y)


def main():
    torch.manual_seed(0)
    # On the stand-in the reference computes the operator; on CANN its own kernel does.
    runtime = use_references(Path(__file__).with_name("ops.yaml"))
    inputs = make_inputs()
    on_npu = to("npu", inputs)
    backend = torchair.get_npu_backend(compiler_config=torchair.CompilerConfig())
    compiled = torch.compile(model, backend=backend, fullgraph=True, dynamic=False)
    with watch_ge() as seen:
        results = compiled(**on_npu)
        print(seen.report())
    expected = reference(**inputs)
    torch.testing.assert_close(to("cpu", results), expected)
    torch.testing.assert_close(on_npu["x"].cpu(), inputs["x"])
    print(f"results equal the reference (runtime: {runtime})")


if __name__ == "__main__":
    main()
