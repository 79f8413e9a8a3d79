"""What runs without an error and without a graph is no proof: eager fallbacks, captures without replays."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from opkit.prove.protocol import BREAKS, ENTERS, Proof
from opkit.testing import prove

SILENT = Path(__file__).parent / "silent"
pytestmark = pytest.mark.npu


@pytest.fixture(scope="module")
def proof(proof_of: Callable[..., Proof]) -> Proof:
    return proof_of(SILENT / "ops.yaml", imports=[SILENT / "operators.py"], modes=["npugraph_ex"])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("force_eager", "npugraph_ex captured nothing"),
        ("force_recapture", "the second call captured again instead of replaying"),
        ("capture_limit", "npugraph_ex fell back to eager (capture_limit)"),
        ("writes_while_captured", "the replay left x as it was, which the schema declares as written"),
    ],
)
def test_npugraph_ex(proof: Proof, name: str, text: str) -> None:
    [mode] = [m for o in proof.operators if o.name == name for m in o.modes]
    assert mode.verdict == BREAKS
    assert mode.reason == f"npugraph_ex: {text}" or text in mode.reason
    assert mode.reason.startswith("npugraph_ex: ")


def test_the_same_operator_without_the_settings(proof: Proof) -> None:
    [mode] = [m for o in proof.operators if o.name == "healthy" for m in o.modes]
    assert mode.verdict == ENTERS, mode.reason


def test_ge() -> None:
    names = ["run_eagerly", "fx_summary", "data_dump"]
    proof = prove(SILENT / "ge.yaml", imports=[SILENT / "ge_eager.py"], modes=["ge"], jobs=1)
    found = {operator.name: mode for operator in proof.operators for mode in operator.modes}
    assert sorted(found) == sorted([*names, "no_option"])
    for name in names:
        assert found[name].verdict == BREAKS
        assert found[name].reason == "ge: no graph was loaded into GE: the compiled function ran eagerly"
    assert found["no_option"].verdict == ENTERS, found["no_option"].reason
