"""The survey of a package: operators with each thing that can be wrong, and one that is right."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from opkit.audit.findings import CAN, CANNOT, UNKNOWN, Finding, Survey
from opkit.audit.survey import survey
from opkit.errors import OpkitError

pytestmark = pytest.mark.npu

PACKAGE = """
import os
import torch

lib = torch.library.Library("audited", "DEF")
SCHEMAS = {
    "good": "(Tensor x, int n=2) -> Tensor",
    "no_meta": "(Tensor x) -> Tensor",
    "too_few": "(Tensor x, *, int n=2) -> Tensor",
    "other_default": "(Tensor x, int n=2) -> Tensor",
    "read_only.out": "(Tensor x, *, Tensor[] out) -> Tensor",
    "dropped": "(Tensor x) -> ()",
    "scalar": "(Tensor x, Scalar p) -> Tensor",
    "aten_like": "(Tensor x) -> Tensor",
    "dies": "(Tensor x) -> Tensor",
}
META = {
    "good": lambda x, n=2: torch.empty_like(x),
    "too_few": lambda x: torch.empty_like(x),
    "other_default": lambda x, n=3: torch.empty_like(x),
    "read_only.out": lambda x, *, out: torch.empty_like(x),
    "dropped": lambda x: None,
    "scalar": lambda x, p: torch.empty_like(x),
    "aten_like": lambda x: torch.empty_like(x),
    "dies": lambda x: torch.empty_like(x),
}


def kernel(x, *args, **kwargs):
    return torch.ops.npu.npu_rms_norm(x, torch.ones(x.shape[-1], dtype=x.dtype, device=x.device))[0]


for name, schema in SCHEMAS.items():
    lib.define(name + schema)
    lib.impl(name, (lambda x: os.abort()) if name == "dies" else kernel, "PrivateUse1")
    if name in META:
        lib.impl(name, META[name], "Meta")
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Survey:
    folder = tmp_path_factory.mktemp("package")
    (folder / "audited_package.py").write_text(PACKAGE)
    before = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = f"{folder}{os.pathsep}{before}" if before else str(folder)
    try:
        return survey("audited_package")
    finally:
        os.environ["PYTHONPATH"] = before


def finding(found: Survey, name: str) -> Finding:
    return next(f for f in found.findings if f.name == f"audited::{name}")


def test_only_what_the_package_defines_is_surveyed(found: Survey) -> None:
    assert len(found.findings) == 9
    assert {f.name.split("::")[0] for f in found.findings} == {"audited"}


def test_an_operator_in_order(found: Survey) -> None:
    good = finding(found, "good")
    assert (good.meta, good.signature, good.kernel, good.converter) == ("python", (), "aclnn", "none")
    assert good.launches == ("aclnnInplaceOne", "aclnnRmsNorm")
    assert good.graphs["npugraph_ex"].verdict == CAN
    # Only CANN knows whether there is an Ascend IR to make a converter from.
    assert good.graphs["ge"].verdict == UNKNOWN


@pytest.mark.parametrize(
    ("name", "graph", "verdict", "reason"),
    [
        ("no_meta", "npugraph_ex", CANNOT, "no Meta kernel"),
        ("too_few", "npugraph_ex", CANNOT, "no keyword parameter `n`"),
        ("other_default", "npugraph_ex", CAN, "to 3 in the function"),
        ("read_only.out", "npugraph_ex", CANNOT, "declares as read-only"),
        ("dropped", "npugraph_ex", CANNOT, "a graph drops it"),
        ("scalar", "ge", CANNOT, "`p` is a Scalar"),
        ("aten_like", "ge", CANNOT, "`aten`"),
        ("dies", "npugraph_ex", UNKNOWN, "no call"),
    ],
)
def test_what_stands_in_the_way(found: Survey, name: str, graph: str, verdict: str, reason: str) -> None:
    result = finding(found, name).graphs[graph]
    assert result.verdict == verdict, result
    assert reason in result.reason


def test_an_operator_that_dies_is_reported(found: Survey) -> None:
    assert [p for p in found.problems if p.startswith("audited::dies") and "SIGABRT" in p]


def test_what_is_not_there_is_an_error() -> None:
    with pytest.raises(OpkitError, match="no_such_package"):
        survey("no_such_package")


def test_torch_npu_as_a_command(tmp_path: Path) -> None:
    ledger, report = tmp_path / "ledger.json", tmp_path / "report.json"
    command = [sys.executable, "-m", "opkit", "audit", "--ledger", str(ledger), "--format", "json"]
    command += ["--output-file", str(report)]
    subprocess.run([*command, "--update-ledger"], check=True)
    content = json.loads(report.read_text())
    assert len(content["operators"]) > 400
    wrong = next(op for op in content["operators"] if op["name"] == "npu::npu_geglu_grad")
    assert wrong["signature"]
    assert wrong["corrected"]
    assert wrong["graphs"]["npugraph_ex"] == {"verdict": CAN, "reason": 'with opkit.register("torch_npu")'}
    recorded = json.loads(ledger.read_text())
    # An operator that the ledger does not know, and one that it need not know.
    recorded["exceptions"].pop("npu::npu_apply_adam")
    recorded["exceptions"]["npu::npu_rms_norm"] = {"npugraph_ex": "cannot: it was so once"}
    ledger.write_text(json.dumps(recorded))
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert "npu::npu_apply_adam: npugraph_ex: worse" in done.stderr
    assert "npu::npu_rms_norm: npugraph_ex: can enter now" in done.stderr
