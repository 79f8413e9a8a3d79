"""The gate: promise and evidence must be the same, both ways; known failures are excused until their end."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from opkit.cli.main import main
from opkit.model.diagnostic import Diagnostic, Severity
from opkit.prove.gate import gated, is_over
from opkit.prove.protocol import (
    ModeResult,
    OperatorResult,
    Proof,
    Runtime,
    StageResult,
    failed,
    not_run,
    proved,
)  # fmt: skip
from opkit.report import proof_formats

ALL = "npugraph_ex, ge, dynamic, no_recompile, cache"
TODAY = datetime.date(2026, 11, 29)
SEEN: dict[str, Any] = {"recompiles": 0, "dynamic": {"sets of sizes": 3, "recompiles": 0}}


def mode(name: str, *others: StageResult, **evidence: Any) -> ModeResult:
    """A mode that enters; `others` take the place of stages of the same name, or come last."""
    stages = {s.name: s for s in (proved("schema"), proved(name, **(evidence or SEEN)), proved("cache"))}
    stages |= {stage.name: stage for stage in others}
    return ModeResult(name, tuple(stages.values()))


@pytest.fixture
def gate(tmp_path: Path) -> Any:
    def run(keys: str, *modes: ModeResult, more: tuple[OperatorResult, ...] = ()) -> Proof:
        file = tmp_path / "ops.yaml"
        file.write_text(f"custom:\n  - func: f(Tensor x) -> Tensor\n{keys}")
        rows = (OperatorResult("f", "library", "case1", modes, str(file)), *more)
        rows = tuple(OperatorResult(r.name, r.style, r.case, r.modes, str(file)) for r in rows)
        return gated(Proof(Runtime("stand-in", "2.13.0", "2.13.0", ""), rows), TODAY)

    return run


def promise(words: str, *failures: str) -> str:
    known = "".join(f"      - {{{failure}}}\n" for failure in failures)
    return f"    enters: [{words}]\n" + (f"    known_failures:\n{known}" if known else "")


def only(proof: Proof) -> Diagnostic:
    assert proof.gate is not None
    (found,) = proof.gate
    return found


BOTH = (mode("npugraph_ex"), mode("ge"))


def test_the_same_set_passes(gate: Any) -> None:
    proof = gate(promise(ALL), *BOTH)
    assert proof.gate == ()
    assert proof.holds
    assert proof_formats.render(proof, "concise") == "gate: 1 of 1 operator as promised\n"
    assert "gate: 1 of 1 operator as promised" in proof_formats.render(proof)


@pytest.mark.parametrize("word", ALL.split(", "))
def test_shown_and_not_promised(gate: Any, word: str) -> None:
    rest = ", ".join(w for w in ALL.split(", ") if w != word)
    proof = gate(promise(rest), *BOTH)
    found = only(proof)
    assert (found.code, proof.holds) == ("OPK331", False)
    assert found.message == f"the proof shows {word} of f, which `enters` does not promise"
    assert found.help == f"add `{word}`: enters: [{ALL}]"
    assert (found.mark.line, found.mark.column) == (3, 5)


@pytest.mark.parametrize(
    ("word", "broken", "reason"),
    [
        ("ge", mode("ge", failed("ge", "no converter")), "[library, case case1] ge: no converter"),
        ("ge", mode("ge", not_run("values", "because x")), "values: because x"),
        ("dynamic", mode("ge", recompiles=0), "ge: no case gives a dim two sizes above 1"),
        ("dynamic", mode("ge", **{**SEEN, "dynamic": {"sets of sizes": 1, "recompiles": 0}}), "two sizes"),
        ("no_recompile", mode("ge", **{**SEEN, "recompiles": 1}), "compiled again"),
        ("no_recompile", mode("ge", dynamic=SEEN["dynamic"]), "was not run or compiled again"),
        ("cache", mode("ge", failed("cache", "compiled again")), "ge: [library, case case1] compiled again"),
        ("cache", ModeResult("ge", (proved("ge", **SEEN),)), "stage cache was not asked for"),
    ],
)
def test_promised_and_not_shown(gate: Any, word: str, broken: ModeResult, reason: str) -> None:
    proof = gate(promise(ALL), mode("npugraph_ex"), broken)
    found = only(proof)
    assert (found.code, proof.holds) == ("OPK330", False)
    assert f"promises {word}, which is not shown: " in found.message
    assert reason in found.message
    # The word itself, not only the entry.
    assert (found.mark.line, found.mark.column) == (3, 14 + ALL.index(word))
    assert f"take `{word}` out" in found.help


def test_every_style_and_case_must_show_it(gate: Any) -> None:
    bad = mode("ge", failed("dynamo", "2 graphs"))
    other = OperatorResult("f", "custom-op", "case2", (mode("npugraph_ex"), bad))
    assert (
        "[custom-op, case case2] dynamo: 2 graphs" in only(gate(promise(ALL), *BOTH, more=(other,))).message
    )


def test_a_case_that_the_operator_refuses_shows_nothing_and_spoils_nothing(gate: Any) -> None:
    refused = tuple(ModeResult(name, (proved("schema"), proved("host"))) for name in ("npugraph_ex", "ge"))
    assert gate(promise(ALL), *BOTH, more=(OperatorResult("f", "library", "no", refused),)).gate == ()
    assert "no case was tried" in gate(promise("ge"), *refused).gate[0].message


def test_an_operator_that_enters_and_cannot_be_cached(gate: Any) -> None:
    uncached = [mode(name, failed("cache", "no artifact")) for name in ("npugraph_ex", "ge")]
    assert gate(promise("npugraph_ex, ge, dynamic, no_recompile"), *uncached).gate == ()


def test_an_empty_promise(gate: Any) -> None:
    nothing = [mode(name, failed(name, "no")) for name in ("npugraph_ex", "ge")]
    assert gate("    enters: []\n", *nothing).gate == ()
    assert [found.code for found in gate("    enters: []\n", *BOTH).gate] == ["OPK331"] * 5


def test_without_a_promise_the_gate_says_what_it_could_be(gate: Any) -> None:
    proof = gate("", *BOTH)
    assert (only(proof).code, only(proof).help, proof.holds) == ("OPK332", f"add `enters: [{ALL}]`", False)


BROKEN = (mode("npugraph_ex"), mode("ge", failed("cache", "no artifact")))


@pytest.mark.parametrize("until", ["2026-11-29", "2027-01-01", "opkit 99", "torch_npu 2.13.1"])
def test_a_known_failure_is_excused(gate: Any, until: str) -> None:
    proof = gate(promise(ALL, f"promise: cache, reason: RNG, until: {until}"), *BROKEN)
    found = only(proof)
    assert (found.code, found.severity, proof.holds) == ("OPK330", Severity.NOTE, True)
    assert f"until {until}: RNG" in found.message
    assert "no artifact" in found.help


@pytest.mark.parametrize("until", ["2026-11-28", "opkit 0.1", "torch_npu 2.13", "torch_npu 2.13.0"])
def test_a_known_failure_whose_end_has_come(gate: Any, until: str) -> None:
    proof = gate(promise(ALL, f"promise: cache, reason: RNG, until: {until}"), *BROKEN)
    found = only(proof)
    assert (found.code, found.severity, proof.holds) == ("OPK333", Severity.ERROR, False)
    assert f"until {until}" in found.message
    assert found.mark.line == 5


def test_a_known_failure_that_passes_is_reported(gate: Any) -> None:
    proof = gate(promise(ALL, "promise: cache, reason: RNG, until: 2020-01-01"), *BOTH)
    found = only(proof)
    assert (found.code, found.severity, proof.holds) == ("OPK334", Severity.WARNING, True)
    assert "no longer needed" in found.message


def test_versions_compare_as_numbers() -> None:
    assert not is_over("torch_npu 2.14", TODAY, {"torch_npu": "2.13.0.post2"})
    assert is_over("torch_npu 2.9", TODAY, {"torch_npu": "2.13.0"})
    assert is_over("torch_npu 2.14.0", TODAY, {"torch_npu": "2.14"})


def test_reports_hold_the_gate(gate: Any) -> None:
    proof = gate(promise("npugraph_ex"), *BOTH)
    again = Proof.from_json(proof.to_json())
    assert again.gate == proof.gate
    assert not again.holds
    assert "which `enters` does not promise" in proof_formats.render(proof)
    assert "gate: 0 of 1 operator as promised" in proof_formats.render(proof)
    for format_ in ("concise", "github", "sarif", "junit"):
        text = proof_formats.render(proof, format_)
        assert text.count("the proof shows ge of f") >= 1, format_
    assert 'failures="1"' in proof_formats.render(proof, "junit")


def test_the_gate_needs_the_whole_proof() -> None:
    for words in (["--mode", "ge"], ["--stage", "meta"], ["--self-test"], ["--shard", "1/2"]):
        done = CliRunner().invoke(main, ["prove", "ops.yaml", "--gate", *words])
        assert done.exit_code == 2
        assert "--gate needs the whole proof" in done.output
