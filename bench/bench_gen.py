from __future__ import annotations

import tempfile
from pathlib import Path

import yaml

from bench.measure import Result, compare
from bench.operators import large_file

PROMISE = "generating the package of 1,500 operators again costs a few times what parsing their YAML costs"


def measure() -> Result:
    from click.testing import CliRunner

    from opkit.cli.gen import command

    with tempfile.TemporaryDirectory() as directory:
        source = Path(directory) / "ops.yaml"
        # The third form declares no rule, and needs none: it returns nothing.
        source.write_text(large_file(), encoding="utf-8")
        arguments = [str(source), "-o", str(Path(directory) / "package")]

        def ours() -> None:
            result = CliRunner().invoke(command, arguments)
            assert result.exit_code == 0, result.output

        def baseline() -> None:
            yaml.load(source.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)

        return compare(ours, baseline, limit=40.0, repeat=3)
