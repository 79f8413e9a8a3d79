"""Operators of every kind enter both graphs, in both styles, with the same values as their reference."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from opkit.prove.protocol import BREAKS, ENTERS, ModeResult, Proof

pytestmark = pytest.mark.npu

OPS = Path(__file__).parent / "kinds" / "ops.yaml"
# Names of the stages beyond the mode's own, per operator: what has a reference is compared.
COMPARED = {
    "kw_only", "writes_only", "writes_two", "list_of_results", "own_kernel", "called_twice",
    "self_and_scalar", "indexed",
}  # fmt: skip


@pytest.fixture(scope="module")
def proof(proof_of: Callable[..., Proof]) -> Proof:
    return proof_of(OPS)


def results(proof: Proof, name: str) -> dict[tuple[str, str, str], ModeResult]:
    return {(o.style, o.case, m.mode): m for o in proof.operators if o.name == name for m in o.modes}


@pytest.mark.parametrize(
    "name",
    [
        "kw_only", "writes_only", "writes_two", "symbolic", "overloaded.value", "list_of_results",
        "own_kernel", "called_twice", "self_and_scalar", "indexed", "effect", "effect_dropped",
    ],
)  # fmt: skip
def test_enters(proof: Proof, name: str) -> None:
    found = results(proof, name)
    assert {mode for _, _, mode in found} == {"npugraph_ex", "ge"}
    assert {style for style, _, _ in found} == {"library"} | ({"custom-op"} if "." not in name else set())
    for key, mode in found.items():
        assert mode.verdict == ENTERS, (key, mode.reason)
        # GE does not run a kernel, so an operator with one of its own has no values there.
        compared = name in COMPARED and key[1] != "refused" and (name, key[2]) != ("own_kernel", "ge")
        assert ("values" in [stage.name for stage in mode.stages]) == compared, key


def test_an_effect_stays_in_the_ge_graph(proof: Proof) -> None:
    for name, node in (("effect", "Effect"), ("effect_dropped", "EffectDropped")):
        for (_, _, mode), found in results(proof, name).items():
            [graph] = [s.evidence["graph"] for s in found.stages if s.name == mode == "ge"] or [None]
            assert graph is None or f"after {node}" in graph[-1]


def test_what_is_not_compared_is_said(proof: Proof) -> None:
    def notes(name: str, mode: str) -> tuple[str, ...]:
        return next(m.notes for (_, _, found), m in results(proof, name).items() if found == mode)

    assert "values not compared: the YAML names no reference function" in notes("symbolic", "ge")
    assert any("GE does not run" in note for note in notes("own_kernel", "ge"))
    assert any("not proved in custom-op style" in note for note in notes("overloaded.value", "ge"))


def test_a_refused_case_tries_no_graph(proof: Proof) -> None:
    refused = [m for (_, case, _), m in results(proof, "kw_only").items() if case == "refused"]
    assert len(refused) == 4
    assert all([stage.name for stage in mode.stages] == ["schema", "meta", "host"] for mode in refused)


def test_a_written_list_cannot_enter_ge(proof: Proof) -> None:
    for (_, _, mode), result in results(proof, "list_written").items():
        if mode == "ge":
            assert result.verdict == BREAKS
            assert "torchair cannot functionalize the mutated tensor list 'x'" in result.reason
        else:
            assert result.verdict == ENTERS
