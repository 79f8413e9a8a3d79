"""An operator waits for values on the stand-in exactly where torch_npu's own host code waits.

Each call is captured twice, in processes of their own: with torch_npu's kernels, which compute nothing but
run their real host code, and with those that compute.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

PROGRAM = """
import json, logging, sys
import opkit.cann.hook
if sys.argv[1] == "host":
    opkit.cann.hook.equip = lambda: None
from opkit.cann.load import ensure_runtime
ensure_runtime(stand_in=True)
import torch, torch_npu
from opkit.cann.library import standin
logging.disable(logging.CRITICAL)
x, v = torch.ones(4, 6).npu(), torch.ones(6).npu()
m, i = torch.ones(4, 6, dtype=torch.bool).npu(), torch.tensor([1, 2]).npu()
four = torch.tensor([1, 2, 1, 2]).npu()
host = torch.tensor([0, 1])
calls = {
    "mask": lambda: x[m],
    "put mask": lambda: x.index_put_((m[:, 0],), v), "host index": lambda: x[host],
    "masked_select": lambda: x.masked_select(m),
    "nonzero": lambda: x.nonzero(), "where": lambda: torch.where(m),
    "unique": lambda: i.unique(), "unique_consecutive": lambda: torch.unique_consecutive(i),
    "equal": lambda: torch.equal(x, x),
    "allclose": lambda: torch.allclose(x, x), "item": lambda: v.sum().item(),
    "bincount": lambda: torch.bincount(i), "histc": lambda: x.histc(),
    "repeat_interleave": lambda: x.repeat_interleave(four, 0),
    "repeat_interleave number": lambda: x.repeat_interleave(2, 0),
    "repeat_interleave sized": lambda: x.repeat_interleave(four, 0, output_size=6),
    "masked_scatter_": lambda: x.masked_scatter_(m, x), "masked_fill_": lambda: x.masked_fill_(m, 0),
    "fill_ host": lambda: x.fill_(torch.tensor(3.0)),
    "add host": lambda: x + torch.tensor(3.0),
    "set number": lambda: x.__setitem__((0, 0), 1.0),
    "set host": lambda: x.__setitem__(0, torch.tensor(1.0)),
    "arange": lambda: torch.arange(0, 9, 2, device="npu"),
    "linspace": lambda: torch.linspace(0, 1, 5, device="npu"),
    "tensor": lambda: torch.tensor([1.0], device="npu"), "topk": lambda: x.topk(2), "sort": lambda: x.sort(),
    "cdist": lambda: torch.cdist(x, x), "cumsum": lambda: x.cumsum(0), "softmax": lambda: x.softmax(0),
    "conv": lambda: torch.nn.functional.conv2d(x[None, None], x[None, None, :2, :2]),
    "batch_norm": lambda: torch.nn.functional.batch_norm(x, None, None, training=True),
    "cross_entropy": lambda: torch.nn.functional.cross_entropy(x, four),
    "embedding": lambda: torch.nn.functional.embedding(i, x), "clone": lambda: x.t().clone(),
    "to half": lambda: x.half(), "cpu": lambda: x.cpu(), "copy host": lambda: v.copy_(torch.ones(6)),
}
stream = torch.npu.Stream()
for name, call in calls.items():
    standin().take_journal()
    raised = None
    try:
        with torch.npu.graph(torch.npu.NPUGraph(), stream=stream):
            call()
    except Exception as error:
        raised = error
    refused = any(event.event == "refuse" for event in standin().take_journal())
    if raised is not None and not refused:
        raise raised
    print("WAITS " + json.dumps([name, refused]), flush=True)
print("DONE")
"""


def waits(kernels: str) -> dict[str, bool]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, kernels], capture_output=True, text=True, timeout=200, check=False
    )
    lines = done.stdout.splitlines()
    assert "DONE" in lines, done.stderr[-3000:]
    return dict(json.loads(line[6:]) for line in lines if line.startswith("WAITS "))


@pytest.mark.npu
def test_same_calls_wait() -> None:
    ours, theirs = waits("computing"), waits("host")
    assert ours == theirs
    assert theirs["mask"]
    assert not theirs["softmax"]
