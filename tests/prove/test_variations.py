"""Stage variations: what no declared case shows is found around it, made small, and can be shown again."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from opkit.prove.protocol import FAILED, PROVED, Proof, StageResult

VARIED = Path(__file__).parent / "varied"
pytestmark = pytest.mark.npu


@pytest.fixture(scope="module")
def proof(proof_of: Callable[..., Proof]) -> Proof:
    return proof_of(VARIED / "ops.yaml", imports=[VARIED / "operators.py"], stages=["variations"])


def stage(proof: Proof, name: str) -> StageResult:
    [mode] = [mode for operator in proof.operators if operator.name == name for mode in operator.modes]
    return next(found for found in mode.stages if found.name == "variations")


@pytest.mark.parametrize(
    ("name", "smallest", "text"),
    [
        ("large_sizes", {"x": "f32[B, 8]", "B": [16]}, "float32[15, 8]"),
        ("flag_ignored", {"x": "f32[B, 8]", "flag": True, "B": [2]}, "float16[2, 8]"),
        ("optional_ignored", {"x": "f32[B, 8]", "y": None, "B": [2]}, "float32[2, 8]"),
        ("empty", {"x": "f32[B, 8]", "B": [0]}, "float32[1, 8]"),
        ("writes_alone", {"x": "f32[B, 8]", "B": [1]}, "the kernel writes x"),
    ],
)
def test_a_failure_is_the_smallest(proof: Proof, name: str, smallest: dict[str, object], text: str) -> None:
    found = stage(proof, name)
    assert found.verdict == FAILED
    assert text in found.reason
    assert {k: str(v) if k == "x" else v for k, v in found.evidence["smallest"].items()} == {
        **smallest, "x": found.evidence["smallest"]["x"]
    }  # fmt: skip


def test_the_script_is_short_and_names_the_case(proof: Proof) -> None:
    script = stage(proof, "large_sizes").evidence["script"]
    assert script.count("\n") < 40
    assert "torch.rand(16, 8)" in script
    assert "opkit" not in script.replace("opkit run", "").replace(str(VARIED.parent.parent), "")
    compile(script, "script.py", "exec")


def test_what_agrees_is_counted(proof: Proof) -> None:
    found = stage(proof, "twin")
    assert found.verdict == PROVED
    assert found.evidence["seed"] == 0
    assert found.evidence["calls"]["equal"] > 10


def test_another_seed_judges_alike(proof: Proof) -> None:
    from opkit.prove.plan import Plan
    from opkit.prove.runner import prove as run

    plan = Plan(
        (str(VARIED / "ops.yaml"),),
        imports=(str(VARIED / "operators.py"),),
        stages=("variations",),
        seed=7,
    )
    other = run(plan)
    names = [operator.name for operator in proof.operators]
    assert [stage(other, name).verdict for name in names] == [stage(proof, name).verdict for name in names]
    assert stage(other, "twin").evidence["seed"] == 7


def test_scripts_are_written(proof: Proof, tmp_path: Path) -> None:
    from opkit.prove.reproduce import write_scripts

    paths = write_scripts(proof, tmp_path / "new")
    assert [path.name for path in paths] == [
        f"{name}_import_case1_npugraph_ex_variations.py"
        for name in ("large_sizes", "flag_ignored", "optional_ignored", "empty", "writes_alone")
    ]


def test_the_script_shows_the_failure(proof: Proof, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(stage(proof, "writes_alone").evidence["script"], encoding="utf-8")
    root = str(Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-m", "opkit", "run", str(script)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 1
    assert "AssertionError: the kernel wrote x" in done.stderr
