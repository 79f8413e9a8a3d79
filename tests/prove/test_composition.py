"""Stage composition: an operator that is right by itself and wrong in a model breaks, by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from opkit.prove.protocol import PROVED, Proof, StageResult

COMPOSED = Path(__file__).parent / "composed"
pytestmark = pytest.mark.npu


@pytest.fixture(scope="module")
def captured(proof_of: Callable[..., Proof]) -> Proof:
    return proof_of(COMPOSED / "ops.yaml", imports=[COMPOSED / "operators.py"], modes=["npugraph_ex"])


@pytest.fixture(scope="module")
def converted(proof_of: Callable[..., Proof]) -> Proof:
    return proof_of(COMPOSED / "converters.yaml", imports=[COMPOSED / "converters.py"], modes=["ge"])


def stages(proof: Proof, name: str) -> dict[str, StageResult]:
    [mode] = [mode for operator in proof.operators if operator.name == name for mode in operator.modes]
    return {stage.name: stage for stage in mode.stages}


def breaks_in(proof: Proof, name: str) -> str:
    """Give the reason, and see to it that nothing but the stage found it."""
    found = stages(proof, name)
    assert {n for n, stage in found.items() if stage.verdict != PROVED} - {"cache"} == {"composition"}, found
    return found["composition"].reason


@pytest.mark.parametrize(
    ("name", "where", "why"),
    [
        (
            "start_of_storage",
            "in place on a slice of a bigger buffer",
            "the memory that the model owns",
        ),
        (
            "no_weights",
            "a method of a module with parameters and buffers (`y` is a par",
            "fake tensor",
        ),
        (
            "no_inference_mode",
            "under torch.inference_mode: a method of a module",
            "ValueError: not in inference mode",
        ),
        ("after_another", "with other operators of the file in one graph (leaves_a_mark", "a result differs"),
        ("borrows", "overlapping views (`x` and `y`, one row apart)", "a result differs"),
        ("renamed", "between aten operators", "npugraph_ex calls composed::renamed_ in its place"),
    ],
)
def test_npugraph_ex(captured: Proof, name: str, where: str, why: str) -> None:
    reason = breaks_in(captured, name)
    assert where in reason
    assert why in reason


@pytest.mark.parametrize("name", ["plain", "plain_too_", "refuses_the_same", "writes_and_gives"])
def test_twins_enter(captured: Proof, name: str) -> None:
    assert {stage.verdict for stage in stages(captured, name).values()} == {PROVED}


def test_evidence_names_every_context(captured: Proof) -> None:
    evidence = stages(captured, "writes_and_gives")["composition"].evidence
    assert "results discarded" in evidence["contexts"]
    assert "twice in a row (result 0 is the next `y`)" in evidence["contexts"]
    assert len(evidence["contexts"]) + len(evidence["not built"]) == 9
    assert evidence["torch.no_grad"]["tasks"]["aten::add"]


def test_a_kernel_may_refuse_the_same_tensor(captured: Proof) -> None:
    refused = stages(captured, "refuses_the_same")["composition"].evidence["not built"]
    assert refused["the same tensor twice"] == (
        "an eager call raises ValueError: x and y must not be the same"
    )
    assert refused["results discarded"].startswith("the operator writes nothing")


@pytest.mark.parametrize(
    ("name", "where", "why"),
    [
        ("fixed_name", "twice in a row", "duplicated node name"),
        ("by_tensor", "the same tensor twice (`x` and `y`)", 'its input "x" is not fed'),
    ],
)
def test_ge(converted: Proof, name: str, where: str, why: str) -> None:
    reason = breaks_in(converted, name)
    assert where in reason
    assert why in reason


def test_a_converter_for_any_model(converted: Proof) -> None:
    composition = stages(converted, "twin")["composition"]
    assert composition.verdict == PROVED
    assert composition.evidence["torch.no_grad"]["nodes"]["Twin"] == 10


def test_a_symbol_that_the_meta_kernel_fixes_compiles_again(captured: Proof) -> None:
    found = stages(captured, "symbol_fixed")
    assert found["meta"].verdict == PROVED
    reason = found["npugraph_ex"].reason
    assert "a new value of `n` compiles again, although the schema says SymInt" in reason


def test_graphs_and_captures_for_new_host_values(captured: Proof) -> None:
    kept = stages(captured, "symbol_kept")["npugraph_ex"].evidence["host values"]
    assert kept == {"n": "one FX graph for all values, 1 capture for a new one"}
    guarded = stages(captured, "guarded")["npugraph_ex"].evidence["host values"]
    assert guarded == {
        "sizes": "one FX graph for all values, 1 capture for a new one",
        "n": "guarded by value: 1 more FX graph for a new one",
        "f": "guarded by value: 1 more FX graph for a new one",
    }
