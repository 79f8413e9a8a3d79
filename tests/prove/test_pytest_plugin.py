"""The fixture for operator packages."""

from __future__ import annotations

from typing import Any

import pytest

from opkit import pytest_plugin
from opkit.prove.protocol import ModeResult, OperatorResult, Proof, Runtime, StageResult, failed, proved


def proof_with(stage: StageResult) -> Proof:
    mode = ModeResult("ge", (stage,))
    return Proof(Runtime("stand-in", "", "", ""), (OperatorResult("f", "library", "default", (mode,)),))


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    made: list[Any] = []

    def prove(path: Any, **options: Any) -> Proof:
        made.append((path, options))
        return proof_with(proved("ge") if path == "good.yaml" else failed("ge", "no node"))

    monkeypatch.setattr(pytest_plugin, "prove", prove)
    return made


def test_a_proof_is_made_once(calls: list[Any]) -> None:
    check = pytest_plugin.checker()
    assert check("good.yaml", modes=["ge"]).enters
    assert check("good.yaml", modes=["ge"]).enters
    assert check("good.yaml", modes=["npugraph_ex"]).enters
    assert calls == [("good.yaml", {"modes": ["ge"]}), ("good.yaml", {"modes": ["npugraph_ex"]})]


def test_an_operator_that_breaks_fails_the_test_with_its_reason(calls: list[Any]) -> None:
    with pytest.raises(pytest.fail.Exception, match="ge: breaks, ge: no node"):
        pytest_plugin.checker()("bad.yaml")
