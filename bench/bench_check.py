from __future__ import annotations

import tempfile
from pathlib import Path

import yaml

from bench.measure import Result, compare
from bench.operators import large_file

PROMISE = "reading and checking 1,500 operators costs a few times what parsing their YAML alone costs"


def measure() -> Result:
    from opkit.read import read_file
    from opkit.rules import check_file

    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "ops.yaml"
        path.write_text(large_file(), encoding="utf-8")

        def ours() -> None:
            op_file, diagnostics = read_file(path)
            assert op_file is not None
            check_file(op_file)

        def baseline() -> None:
            yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)

        return compare(ours, baseline, limit=6.0, repeat=5)
