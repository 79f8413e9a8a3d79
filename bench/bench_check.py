from __future__ import annotations

import tempfile
from pathlib import Path

from bench.measure import Result, compare, process
from bench.operators import op_plugin_file

PROMISE = (
    "`opkit check` of a file like op-plugin's costs at most 5 times what Python and PyYAML's C loader cost"
)

LOAD = "import sys, yaml; yaml.load(open(sys.argv[1], encoding='utf-8'), Loader=yaml.CSafeLoader)"


def measure() -> Result:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "ops.yaml"
        path.write_text(op_plugin_file(), encoding="utf-8")
        ours = process(["-m", "opkit", "check", str(path), "--format", "json"])
        return compare(ours, process(["-c", LOAD, str(path)]), limit=5.0)
