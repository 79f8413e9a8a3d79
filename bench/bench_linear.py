from __future__ import annotations

import gc
import statistics
import tempfile
import time
from pathlib import Path

from bench.measure import Result
from bench.operators import OP_PLUGIN_ENTRIES, op_plugin_file

PROMISE = "ten times the operators are about ten times the work of `opkit check`"


def measure() -> Result:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "ops.yaml"
        times: dict[int, float] = {}
        for entries in (OP_PLUGIN_ENTRIES, 10 * OP_PLUGIN_ENTRIES):
            path.write_text(op_plugin_file(entries), encoding="utf-8")
            times[entries] = statistics.median(_work(path) for _ in range(3))
    small, large = times.values()
    return Result(large, small, limit=12.0)


def _work(path: Path) -> float:
    """Processor time of a check, without looking for garbage, as in the command."""
    from opkit.check import check_path

    gc.collect()
    gc.disable()
    try:
        start = time.process_time()
        check_path(path)
        return time.process_time() - start
    finally:
        gc.enable()
