"""The form torch_npu registers, of every operator in the YAML that the wheel was generated from."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.npu

SCRIPT = """
import pathlib, sys
import torch, torch_npu
from opkit.model.registered import registered_schema
from opkit.read import read_file

aten = pathlib.Path(torch_npu.__file__).parent / "csrc" / "aten"
for name in ("npu_native_functions.yaml", "npu_native_functions_by_codegen.yaml"):
    op_file, found = read_file(aten / name)
    errors = [f"{d.mark}: {d.message}" for d in found if d.severity.value == "error"]
    assert not errors, errors
    compared = 0
    for op in op_file.operators:
        if op.section != "custom":
            continue
        schema = registered_schema(op)
        live = torch._C._get_schema(f"npu::{schema.name.base}", schema.name.overload)
        ours = torch._C.parse_schema(f"npu::{schema}")
        assert (ours, str(ours)) == (live, str(live)), (str(ours), str(live))
        compared += 1
    print(name, compared)
"""


def test_every_custom_operator_is_registered_as_we_say(tmp_path: Path) -> None:
    script = tmp_path / "compare.py"
    script.write_text(SCRIPT, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "opkit", "run", str(script)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    counts = [int(line.split()[1]) for line in done.stdout.splitlines() if ".yaml" in line]
    assert len(counts) == 2
    assert counts[0] > 5
    assert counts[1] > 300
