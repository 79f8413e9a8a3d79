from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys

from bench.measure import Result

PROMISE = "loading the stand-in adds at most 5 % to `import torch, torch_npu`"

# Each process measures both: the libraries before the import, what computes after it, and the import itself.
PROGRAM = """
import json, sys, time
start = time.perf_counter()
from opkit.cann.load import ensure_runtime
ensure_runtime(True, computes=False)
loaded = time.perf_counter() - start
start = time.perf_counter()
import torch, torch_npu
imported = time.perf_counter() - start
start = time.perf_counter()
from opkit.cann.hook import equip
equip()
loaded += time.perf_counter() - start
print(json.dumps([loaded, imported]))
"""
ROUNDS = 5


def measure() -> Result:
    loaded, imported = zip(*(_once() for _ in range(ROUNDS)))
    ours, baseline = statistics.median(loaded), statistics.median(imported)
    return Result(ours + baseline, baseline, limit=1.05)


def _once() -> tuple[float, float]:
    environment = {**os.environ, "OPKIT_STAND_IN": "1"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], check=True, stdout=subprocess.PIPE, text=True, env=environment
    )
    loaded, imported = json.loads(done.stdout.splitlines()[-1])
    return loaded, imported
