from __future__ import annotations

import os
import statistics
import subprocess
import sys

from bench.measure import Result

PROMISE = "the stand-in's libraries and kernels add at most 5 % to `import torch, torch_npu`"

# Time of the processor, so that a busy machine measures the same.
PROGRAM = "import time, torch, torch_npu; print(time.process_time())"
ROUNDS = 5


def measure() -> Result:
    from opkit.cann.load import runtime_environment

    ours = runtime_environment(True)
    bare = {name: value for name, value in ours.items() if name != "PYTHONPATH"}  # no kernels
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for environment, kept in zip((ours, bare), times):
            done = subprocess.run(
                [sys.executable, "-c", PROGRAM],
                check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment},
            )  # fmt: skip
            kept.append(float(done.stdout.splitlines()[-1]))
    return Result(statistics.median(times[0]), statistics.median(times[1]), limit=1.05)
