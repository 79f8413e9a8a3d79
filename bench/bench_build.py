from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile

from bench.measure import Result

PROMISE = "a cold build of the stand-in takes under 20 seconds of one processor, on two about half of that"

PROGRAM = "from opkit.cann.load import ensure_runtime; ensure_runtime(True)"


def measure() -> Result:
    with tempfile.TemporaryDirectory() as directory:
        environment = {**os.environ, "OPKIT_CACHE_DIR": directory}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", PROGRAM], check=True, env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return Result(spent, 20.0, limit=1.0)
