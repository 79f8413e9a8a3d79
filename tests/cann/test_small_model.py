"""A small model gives the CPU's numbers eagerly, by npugraph_ex and by GE, compiled anew and from a cache."""

from __future__ import annotations

from pathlib import Path

import pytest
from standin_process import run_opkit

from opkit.cann.wheels import find_wheel

PROGRAM = Path(__file__).with_name("small_model_program.py")


@pytest.mark.npu
@pytest.mark.skipif(find_wheel("torch_npu") is None, reason="torch_npu is not installed")
@pytest.mark.parametrize("backend", ["eager", "npugraph_ex", "ge"])
def test_same_numbers(backend: str, tmp_path: Path) -> None:
    # The second process finds what the first one cached.
    for _ in range(1 if backend == "eager" else 2):
        done = run_opkit("run", "--stand-in", str(PROGRAM), backend, str(tmp_path))
        assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-3000:]
        assert f"same numbers {backend}" in done.stdout
