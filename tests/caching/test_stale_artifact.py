"""A changed operator: a plain `cache_compile` takes the old artifact, `opkit.cache_dir` makes a new one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.npu
PROGRAM = Path(__file__).with_name("stale_program.py")


def run(mode: str, version: int, directory: Path) -> dict[str, Any]:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    environment.pop("TORCH_DEVICE_BACKEND_AUTOLOAD", None)
    done = subprocess.run(
        [sys.executable, str(PROGRAM), mode, str(version), str(directory)],
        capture_output=True,
        text=True,
        cwd=directory,
        env=environment,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    line = next(line for line in reversed(done.stdout.splitlines()) if line.startswith("{"))
    found: dict[str, Any] = json.loads(line)
    return found


# The value of both versions: rows times 5 where the Meta kernel decides, 5 + 5 and 5 * 5 in GE.
@pytest.mark.parametrize(("mode", "first", "second"), [("npugraph_ex", 20.0, 25.0), ("ge", 10.0, 25.0)])
def test_a_changed_operator_must_not_find_its_old_artifact(
    tmp_path: Path, mode: str, first: float, second: float
) -> None:
    assert run(mode, 1, tmp_path) == {
        "plain": {"hit": False, "value": first},
        "opkit": {"hit": False, "value": first},
    }
    assert run(mode, 2, tmp_path) == {
        # The old result of another operator, without a word.
        "plain": {"hit": True, "value": first},
        "opkit": {"hit": False, "value": second},
    }
