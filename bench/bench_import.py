from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

from bench.measure import Result

PROMISE = "importing a generated Meta module costs, per operator, no more than importing torch_npu's own"
PROCESSES = 5
THEIRS = "torch_npu.op_plugin.meta._meta_registrations"


def measure() -> Result:
    """Import both in the same processes; the module generated is that of opkit's rules for torch_npu."""
    with tempfile.TemporaryDirectory() as directory:
        _generate(Path(directory))
        _import(directory)  # compiles both
        runs = [_import(directory) for _ in range(PROCESSES)]
    ours, theirs = (statistics.median(run[whose] for run in runs) for whose in ("ours", "theirs"))
    return Result(ours, theirs, limit=1.0)


def _generate(directory: Path) -> None:
    from opkit.emit import emit_meta
    from opkit.prove.plan import read
    from opkit.shape import Environment
    from opkit.shipped import rule_files

    files = [read(str(path)) for path in rule_files("torch_npu")]
    # Corrections are for operators that have a Meta kernel: a generated module leaves those alone.
    specs = tuple(s for f in files for s in f.operators if not s.corrects and s.meta and not s.meta.python)
    environment = Environment("2.13.0", "9.0.0", "Ascend910B2")
    text = emit_meta(replace(files[0], operators=specs), "library", "npu", environment=environment)
    (directory / "generated.py").write_text(text, encoding="utf-8")


def _import(directory: str) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.bench_import", directory]
    environment = {**os.environ, "OPKIT_SOC": "910B", "OPKIT_CANN": "9.0.0"}
    # Both are imported from bytecode, as installed packages are.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


class _Stopwatch(importlib.abc.MetaPathFinder):
    """Times the execution of one module when it is imported."""

    def __init__(self, name: str) -> None:
        self.name, self.seconds = name, 0.0

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        if fullname != self.name:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        assert spec is not None
        assert spec.loader is not None
        execute = spec.loader.exec_module

        def timed(module: ModuleType) -> None:
            start = time.perf_counter()
            execute(module)
            self.seconds = time.perf_counter() - start

        spec.loader.exec_module = timed  # type: ignore[method-assign]
        return spec


def _main(directory: str) -> None:
    from opkit.cann.load import ensure_runtime

    ensure_runtime(True)
    theirs, ours = _Stopwatch(THEIRS), _Stopwatch("generated")
    sys.meta_path[:0] = [theirs, ours]
    sys.path.insert(0, directory)
    import torch_npu  # noqa: F401 - what is timed

    theirs_count = len(torch_npu_registrations())
    importlib.import_module("generated")
    ours_count = Path(directory, "generated.py").read_text(encoding="utf-8").count("\n@meta_kernel(")
    assert theirs.seconds
    assert ours.seconds
    print(json.dumps({"ours": ours.seconds / ours_count, "theirs": theirs.seconds / theirs_count}))


def torch_npu_registrations() -> list[str]:
    """List the `@impl` lines of torch_npu's file."""
    source = Path(str(sys.modules[THEIRS].__file__)).read_text(encoding="utf-8")
    return [line for line in source.splitlines() if line.startswith("@impl(")]


if __name__ == "__main__":
    _main(sys.argv[1])
