from __future__ import annotations

import itertools
import tempfile
from pathlib import Path

import yaml

from bench.measure import Result, compare
from bench.operators import OP_PLUGIN_ENTRIES, large_file

PROMISE = (
    "generating 1,514 operators costs at most 20 times what reading their YAML costs; again writes nothing"
)


def measure() -> Result:
    from click.testing import CliRunner

    from opkit.cli.gen import command

    with tempfile.TemporaryDirectory() as directory:
        source = Path(directory) / "ops.yaml"
        source.write_text(large_file(OP_PLUGIN_ENTRIES), encoding="utf-8")
        numbers = itertools.count()

        def generate(package: Path) -> str:
            result = CliRunner().invoke(command, [str(source), "-o", str(package)])
            assert result.exit_code == 0, result.output
            return result.output

        def ours() -> None:
            generate(Path(directory) / f"package{next(numbers)}")

        def baseline() -> None:
            yaml.load(source.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)

        result = compare(ours, baseline, limit=20.0, repeat=3)
        package = Path(directory) / "package0"
        before = {path: path.stat().st_mtime_ns for path in package.rglob("*.*")}
        assert "is up to date" in generate(package)
        assert before == {path: path.stat().st_mtime_ns for path in package.rglob("*.*")}
        return result
