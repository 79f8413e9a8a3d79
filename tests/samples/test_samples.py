"""The samples are what opkit generates, and they run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SAMPLES = Path(__file__).parent.parent.parent / "samples"
NAMES = ["my_op", "my_inplace", "custom_op_my_op", "custom_op_my_inplace"]


def run(*command: str, cwd: Path = SAMPLES) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k != "TORCH_DEVICE_BACKEND_AUTOLOAD"}
    return subprocess.run(
        [sys.executable, *command], cwd=cwd, env=environment, capture_output=True, text=True, timeout=300
    )


def test_every_sample_is_listed() -> None:
    assert sorted(p.parent.name for p in SAMPLES.glob("*/ops.yaml")) == sorted(NAMES)


def test_generated_files_are_up_to_date() -> None:
    done = run("generate.py", "--check")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("sample", NAMES)
def test_check_finds_nothing(sample: str) -> None:
    done = run("-m", "opkit", "check", f"{sample}/ops.yaml")
    assert done.returncode == 0, done.stdout + done.stderr


_NODE = "MyOp(x=arg0_1:0, y=arg1_1:0, z0=arg2_1:0, z1=arg3_1:0, attr1=2.0, attr2=5) -> out"
EVIDENCE = {
    "npugraph_ex": {
        "my_op": "first call: captured npu::my_op; replayed npu::my_op",
        "my_inplace": "first call: captured npu::my_inplace; replayed npu::my_inplace",
        "custom_op_my_op": "first call: captured mylib::my_op; replayed mylib::my_op",
        "custom_op_my_inplace": "first call: captured mylib::my_op_; replayed mylib::my_op_",
    },
    "ge": {
        "my_op": _NODE,
        "my_inplace": "MyInplace(x=TensorMove:0, y=arg1_1:0) -> x, out",
        "custom_op_my_op": _NODE,
        "custom_op_my_inplace": "MyOp(x=TensorMove:0, y=arg1_1:0) -> x, out",
    },
}


@pytest.mark.npu
@pytest.mark.parametrize("mode", list(EVIDENCE))
@pytest.mark.parametrize("sample", NAMES)
def test_a_script_shows_its_graph(sample: str, mode: str, tmp_path: Path) -> None:
    script = SAMPLES / sample / f"run_{mode}.py"
    done = run("-m", "opkit", "run", "--stand-in", str(script), cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert EVIDENCE[mode][sample] in done.stdout
    assert "results equal the reference (runtime: stand-in)" in done.stdout


@pytest.mark.npu
@pytest.mark.parametrize("mode", list(EVIDENCE))
def test_a_script_fails_when_the_call_runs_eagerly(mode: str, tmp_path: Path) -> None:
    """The results of an eager call are right, so only the evidence can tell."""
    script = SAMPLES / "my_op" / f"run_{mode}.py"
    text = script.read_text(encoding="utf-8").replace("compiled(**on_npu)", "model(**on_npu)")
    text = text.replace("Path(__file__)", f"Path({str(script)!r})")
    copy = tmp_path / "eager.py"
    copy.write_text(f"import sys\nsys.path.insert(0, {str(script.parent)!r})\n{text}", encoding="utf-8")
    done = run("-m", "opkit", "run", "--stand-in", str(copy), cwd=tmp_path)
    assert done.returncode == 1
    assert "OpkitError" in done.stderr
    assert "results equal" not in done.stdout
