from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.measure import Result

PROMISE = "a whole npugraph_ex proof of an operator takes at most 12 bare torch.compile calls of it"

LIMIT = 12.0
_OPERATORS = 6
_WORKER = """
import json, sys, time
from opkit.prove.plan import Plan, requests
from opkit.prove.protocol import NOT_RUN
from opkit.prove.cases import candidates
from opkit.prove.quick import without_guard_timing
from opkit.prove.setup import Setup
from opkit.prove.subject import Setting, Subject, on_npu
from opkit.prove.watch import Watch
from opkit.prove import worker

class Silent:
    def send(self, event, **values):
        if event == "stage" and values["stage"]["verdict"] != "proved":
            raise SystemExit(values["stage"]["reason"])

[request] = requests(Plan((sys.argv[1],), modes=("npugraph_ex",), styles=("library",)))
runtime = worker.start(request, Silent())
import torch

watch = Watch()
setup = Setup(request, watch, runtime)
declared = {item.identity: item for item in setup.run()}
setting = Setting("npugraph_ex", runtime, watch, others=tuple(declared.values()))
times = {"proof": [], "bare": []}
for file, name, case in request.subjects:
    item = declared[file, name]
    [found] = candidates(item.spec)
    start = time.perf_counter()
    worker.Judge(Silent(), setting, item, {"file": file, "operator": name, "case": case}).judge(found)
    times["proof"].append(time.perf_counter() - start)
    subject = Subject(setting, item, found.alternatives[0][1])
    subject.operator = getattr(torch.ops.npu, name).default
    args, kwargs = on_npu(subject.inputs()).call()
    torch._dynamo.reset()
    # A worker leaves out what a bare compile does.
    torch._dynamo.guards.profile_guard_manager = torch._C._dynamo.guards.profile_guard_manager
    start = time.perf_counter()
    torch.compile(subject.model(), backend="npugraph_ex", fullgraph=True)(*args, **kwargs)
    times["bare"].append(time.perf_counter() - start)
    without_guard_timing()
print(json.dumps(times))
"""


def measure() -> Result:
    """Prove operators in one process; the first pays for what torch loads at the first compile."""
    entries = "".join(
        f"  - func: bench_{i}(Tensor x, Tensor y, int n) -> Tensor\n"
        "    meta: {out: {size: x, dtype: x}}\n"
        '    cases: [{x: "f16[B, 8]", y: "f16[B, 8]", n: 3, B: [4, 3, 7]}]\n'
        for i in range(_OPERATORS)
    )
    with tempfile.TemporaryDirectory() as directory:
        yaml = Path(directory) / "ops.yaml"
        yaml.write_text(f"custom:\n{entries}", encoding="utf-8")
        # Of torch's and torch_npu's warnings only a failure is worth showing.
        command = [sys.executable, "-W", "ignore", "-c", _WORKER, str(yaml)]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"the proof did not run: {done.stderr}")
    times = json.loads(done.stdout.splitlines()[-1])
    # The median of all but the first.
    ours, bare = (sorted(values[1:])[(len(values) - 1) // 2] for values in (times["proof"], times["bare"]))
    return Result(ours, bare, limit=LIMIT)
