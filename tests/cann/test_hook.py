"""torch_npu computes in whatever runs on the stand-in, and nothing else about the process changes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CHILD = "import torch; print('child', (torch.ones(2).npu() + 1).tolist())"
PROGRAM = f"""
import subprocess, sys
import torch
import inspect, torch_npu
print("values", (torch.arange(3.0, device="npu") * 2).tolist())
print("loader", type(torch_npu.__loader__).__name__, "def _initialize" in inspect.getsource(torch_npu))
print(subprocess.run([sys.executable, "-c", {CHILD!r}], capture_output=True, text=True).stdout)
"""


def run(tmp_path: Path, program: str, **environment: str) -> str:
    script = tmp_path / "program.py"
    script.write_text(program)
    kept = {name: value for name, value in os.environ.items() if name != "TORCH_DEVICE_BACKEND_AUTOLOAD"}
    done = subprocess.run(
        [sys.executable, "-m", "opkit", "run", "--stand-in", str(script)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**kept, **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.npu
def test_autoload_and_children_compute(tmp_path: Path) -> None:
    said = run(tmp_path, PROGRAM)
    assert "values [0.0, 2.0, 4.0]" in said
    assert "loader SourceFileLoader True" in said
    assert "child [2.0, 2.0]" in said


def test_hidden_sitecustomize_still_runs(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("import builtins\nbuiltins.own_was_here = __file__\n")
    said = run(
        tmp_path, "import sitecustomize; print(own_was_here, sitecustomize.__file__)", PYTHONPATH=str(own)
    )
    assert said.split() == [str(own / "sitecustomize.py")] * 2


def test_program_without_torch_imports_none(tmp_path: Path) -> None:
    said = run(tmp_path, "import sys; print(any(name.split('.')[0] == 'torch' for name in sys.modules))")
    assert said.strip() == "False"


def test_hook_is_off_where_the_stand_in_is_off(tmp_path: Path) -> None:
    bootstrap = Path(__file__).parents[2] / "opkit" / "cann" / "bootstrap"
    done = subprocess.run(
        [sys.executable, "-c", "import sys; print('opkit' in sys.modules)"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(bootstrap), "OPKIT_STAND_IN": "0"},
    )
    assert (done.stdout, done.stderr) == ("False\n", "")
