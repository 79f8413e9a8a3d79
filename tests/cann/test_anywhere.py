"""`opkit run` serves any program: devices, workers, forked and spawned children, pytest-xdist."""

from __future__ import annotations

from pathlib import Path

import pytest
from standin_process import run_opkit

from opkit.cann.wheels import find_wheel

pytestmark = [
    pytest.mark.npu,
    pytest.mark.skipif(find_wheel("torch_npu") is None, reason="torch_npu is not installed"),
]


def test_two_devices_workers_and_children() -> None:
    program = Path(__file__).with_name("anywhere_program.py")
    done = run_opkit("run", "--stand-in", str(program), "-x", "1", changes={"OPKIT_DEVICES": "2"})
    assert done.returncode == 0, done.stderr[-3000:]
    assert "all done ['-x', '1']" in done.stdout


def test_xdist_workers(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(
        "import os\nimport pytest\nimport torch\n\n"
        "@pytest.mark.parametrize('n', range(4))\n"
        "def test_values(n):\n"
        "    assert os.environ['PYTEST_XDIST_WORKER']\n"
        "    assert (torch.ones(2).npu() * n).tolist() == [n, n]\n"
        "    assert torch.npu.get_device_name(0) == 'Ascend310P3'\n"
    )
    done = run_opkit(
        "run",
        "--stand-in",
        "--soc",
        "310P",
        "pytest",
        "-q",
        "-n",
        "2",
        "-p",
        "no:cacheprovider",
        str(tmp_path),
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert "4 passed" in done.stdout


def test_a_toolkit_that_is_not_there(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import torch\nprint(torch.ones(2).npu().sum().item())\n")
    changes = {"ASCEND_HOME_PATH": str(tmp_path / "nowhere")}
    done = run_opkit("run", "--stand-in", str(program), changes=changes)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "2.0" in done.stdout
