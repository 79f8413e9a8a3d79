"""`opkit run --register` and pytest's `opkit_register`: Meta kernels are there once torch_npu is imported."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from opkit.cli.main import main
from opkit.errors import OpkitError
from opkit.registration import on_import

RULES = """
custom:
  - func: npu_fast_gelu(Tensor self) -> Tensor
    op_api: all_version
    meta: {out: {size: '[7]', dtype: self}}
  - func: on_import(Tensor x) -> Tensor
    op_api: all_version
    meta: {out: {size: '[7]', dtype: x}}
"""
# In the process itself and in one it starts: the operator of the file, and one of torch_npu.
PROGRAM = """
import subprocess, sys, torch, torch_npu
x = torch.empty(2, 3, device="meta")
npu = torch.ops.npu
print("said", hasattr(npu, "on_import"), *npu.npu_fast_gelu(x).shape, *npu.npu_mish(x).shape)
if len(sys.argv) < 2:
    child = [sys.executable, __file__, "child"]
    print(subprocess.run(child, capture_output=True, text=True, check=True).stdout)
"""


def run(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "ops.yaml").write_text(RULES)
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "opkit", "run", "--stand-in", *arguments]
    return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)


def said(output: str) -> list[str]:
    """What the programs print; torch_npu prints, too."""
    return [line.removeprefix("said ") for line in output.splitlines() if line.startswith("said ")]


@pytest.mark.npu
def test_the_program_and_its_children_have_the_meta_kernels(tmp_path: Path) -> None:
    done = run(tmp_path, "--register", "ops.yaml", "--register", "torch_npu", "program.py")
    assert done.returncode == 0, done.stderr
    # What has a Meta kernel keeps it.
    assert said(done.stdout) == ["True 2 3 2 3"] * 2


@pytest.mark.npu
def test_replace_puts_the_rule_in_the_place_of_a_meta_kernel(tmp_path: Path) -> None:
    done = run(tmp_path, "--replace", "--register", "torch_npu", "--register", "ops.yaml", "program.py")
    assert done.returncode == 0, done.stderr
    assert said(done.stdout) == ["True 7 2 3"] * 2


@pytest.mark.npu
def test_every_worker_of_a_suite_has_the_meta_kernels(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\nopkit_register = torch_npu ops.yaml\n")
    test = "import torch, torch_npu, pytest\n\n@pytest.mark.parametrize('n', range(4))\ndef test_it(n):\n"
    test += "    x = torch.empty(2, 3, device='meta')\n    assert torch.ops.npu.npu_mish(x).shape == (2, 3)\n"
    test += "    assert torch.ops.npu.on_import(x).shape == (7,)\n"
    (tmp_path / "test_it.py").write_text(test)
    parallel = ["-n", "2"] if importlib.util.find_spec("xdist") else []
    done = run(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", *parallel)
    assert "4 passed" in done.stdout, done.stdout + done.stderr


def test_what_has_no_rules_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(OpkitError, match="no rules to register: torch_nqu"):
        on_import.checked(["torch_nqu"], tmp_path)
    result = CliRunner().invoke(main, ["run", "--register", "torch_nqu", "python"])
    assert result.exit_code == 2
    assert "torch_npu" in result.output
    assert CliRunner().invoke(main, ["run", "--replace", "python"]).exit_code == 2
    ini = tmp_path / "pytest.ini"
    ini.write_text("[pytest]\nopkit_register = torch_nqu\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-c", str(ini)], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 4
    assert "no rules to register: torch_nqu" in done.stderr
