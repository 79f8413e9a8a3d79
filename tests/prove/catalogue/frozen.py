"""A weight that is replaced between two calls is read by a graph, but not by one with frozen parameters."""

import torch
import torch_npu  # noqa: F401 - registers the NPU


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(4, device="npu"), requires_grad=False)

    def forward(self, x):
        return x * self.weight


def reads_again(**options):
    torch._dynamo.reset()
    model = Model()
    compiled = torch.compile(model, backend="npugraph_ex", fullgraph=True, dynamic=False, options=options)
    x = torch.ones(4, device="npu")
    with torch.no_grad():
        compiled(x)
        model.weight.data = torch.full((4,), 3.0, device="npu")
        return compiled(x).cpu().tolist() == [3.0] * 4


print("read again:", reads_again(frozen_parameter=False))
print("frozen:", reads_again(frozen_parameter=True))
