"""Stage cache: an artifact is taken by a second process, and what goes wrong there is found.

All operators are proved at once: two processes for each mode, and one more after the one that dies.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from opkit.prove.protocol import FAILED, PROVED, Proof, StageResult
from opkit.testing import prove

pytestmark = pytest.mark.npu
CACHED = Path(__file__).parent / "cached"
RESTLESS = """
import os
from pathlib import Path

import torch

# Every import changes the package, so no second process finds what the first one digested.
Path(__file__).with_name("state.json").write_text(str(os.getpid()))
library = torch.library.Library("npu", "FRAGMENT")
library.define("restless(Tensor x) -> Tensor")
library.impl("restless", torch.empty_like, "Meta")
"""


@pytest.fixture(scope="module")
def proof(tmp_path_factory: pytest.TempPathFactory) -> Proof:
    package = tmp_path_factory.mktemp("import") / "restless_ops"
    package.mkdir()
    (package / "__init__.py").write_text(RESTLESS)
    return prove(CACHED / "ops.yaml", stages=["cache"], imports=[package], styles=["library"])


def stage(proof: Proof, operator: str, mode: str) -> StageResult:
    (found,) = [
        stage
        for result in proof.operators
        for of_mode in result.modes
        for stage in of_mode.stages
        if (result.name, of_mode.mode, stage.name) == (operator, mode, "cache")
    ]
    return found


@pytest.mark.parametrize(("mode", "node"), [("npugraph_ex", "npu::kept"), ("ge", "Kept: Kept")])
def test_a_second_process_takes_the_artifact(proof: Proof, mode: str, node: str) -> None:
    found = stage(proof, "kept", mode)
    assert found.verdict == PROVED, found.reason
    assert (found.evidence["hit"], found.evidence["compiles"]) == (True, 0)
    assert found.evidence["artifact"] == "unchanged"
    assert node in found.evidence["graph"]
    assert found.evidence["results"] == "equal those of the first process"


@pytest.mark.parametrize(
    ("mode", "outcome"),
    [
        ("npugraph_ex", "'_OpNamespace' 'npu' object has no attribute 'kept'"),
        # The graph is in the artifact; what GE lacks without the operator is its Ascend IR.
        ("ge", "cannot interpret the node type Kept"),
    ],
)
def test_what_a_plain_call_does_and_an_operator_that_is_late(proof: Proof, mode: str, outcome: str) -> None:
    evidence = stage(proof, "kept", mode).evidence
    assert evidence["plain call"].startswith("hits before the operator is registered")
    assert outcome in evidence["without the operator"]


@pytest.mark.parametrize("mode", ["npugraph_ex", "ge"])
def test_other_values_than_in_the_first_process_are_found(proof: Proof, mode: str) -> None:
    found = stage(proof, "other_value", mode)
    assert found.verdict == FAILED
    assert "result 0 differs from the first process" in found.reason
    assert found.evidence["hit"] is True


@pytest.mark.parametrize("mode", ["npugraph_ex", "ge"])
def test_a_second_process_that_dies_costs_its_operator_alone(proof: Proof, mode: str) -> None:
    found = stage(proof, "dies", mode)
    assert found.verdict == FAILED
    assert "the process died of signal SIGABRT" in found.reason


def test_a_package_that_changes_has_no_directory_of_its_own(proof: Proof) -> None:
    found = stage(proof, "restless", "npugraph_ex")
    assert found.verdict == FAILED
    assert "opkit.cache_dir gives another directory in a second process" in found.reason
