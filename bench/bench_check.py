from __future__ import annotations

import tempfile
from pathlib import Path

import yaml

from bench.measure import Result, compare
from bench.operators import large_file

PROMISE = "checking 1,500 operators costs a few times what parsing their YAML alone costs"


def measure() -> Result:
    from opkit.check import check_path

    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "ops.yaml"
        path.write_text(large_file(), encoding="utf-8")

        def ours() -> None:
            check_path(path)

        def baseline() -> None:
            yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)

        return compare(ours, baseline, limit=12.0, repeat=5)
