"""The self-test finds every mutant, and says so when it does not.

The mutants run on the real torch, torch_npu and torchair; tests/prove/mutants has the operators.
"""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from opkit.prove.mutants import run as run_module
from opkit.prove.mutants import worker
from opkit.prove.mutants.bench import Judgement
from opkit.prove.mutants.catalogue import KINDS
from opkit.prove.mutants.matrix import EQUIVALENT, KILLED, NOT_APPLICABLE, SURVIVED, Baseline, Matrix, Verdict
from opkit.prove.mutants.run import self_test
from opkit.prove.plan import Plan
from opkit.prove.protocol import Request, Runtime
from opkit.report import kill_matrix

MUTANTS = Path(__file__).parent / "mutants"


@pytest.fixture(scope="module")
def matrix() -> Matrix:
    return self_test(Plan(files=(str(MUTANTS / "ops.yaml"),), styles=("library",)))


@pytest.fixture(scope="module")
def weak() -> Matrix:
    plan = Plan(files=(str(MUTANTS / "weak.yaml"),), modes=("npugraph_ex",), styles=("library",))
    return self_test(plan)


def _of(matrix: Matrix, kind: str) -> list[Verdict]:
    return [verdict for verdict in matrix.verdicts if verdict.kind == kind]


@pytest.mark.npu
def test_every_mutant_of_a_good_operator_is_killed(matrix: Matrix) -> None:
    assert matrix.survivors == ()
    assert matrix.passes
    assert len({v.kind for v in matrix.verdicts if v.outcome == KILLED}) > 60


@pytest.mark.npu
@pytest.mark.parametrize(
    ("kind", "stage", "reason"),
    [
        ("meta-same-width-dtype", "meta", "the declared rule says float"),
        ("meta-size-as-number", "meta", "turns a symbolic size into a number"),
        ("meta-check-missing", "meta", "which the declared rule refuses: sizes differ"),
        ("meta-late", "meta", "after a model with the operator had been compiled"),
        ("meta-default-changed", "meta", "`n` defaults to 2 in the schema and to 3 in the function"),
        ("schema-write-overdeclared", "host", "the schema says that"),
        ("schema-registered-default", "schema", "declared as"),
        ("converter-missing", "ge", "no GE converter is registered"),
        ("converter-inputs-swapped", "ge", "is fed by"),
        ("converter-attribute-constant", "ge", "attribute `"),
        ("prototype-inputs-order", "ge", "x, y"),
        ("prototype-attribute-type", "ge", "that is registered is not the declared one"),
    ],
)
def test_a_mutant_is_killed_for_what_it_breaks(matrix: Matrix, kind: str, stage: str, reason: str) -> None:
    found = _of(matrix, kind)
    assert found
    for verdict in found:
        assert (verdict.outcome, verdict.stage) == (KILLED, stage)
        assert reason in verdict.reason


@pytest.mark.npu
def test_a_mutant_that_changes_nothing_is_shown_to_be_none(matrix: Matrix) -> None:
    same = [v for v in _of(matrix, "meta-other-source") if v.place in ("x -> y", "y -> x")]
    assert [v.outcome for v in same] == [EQUIVALENT] * len(same)
    assert same
    assert "gives the same in" in same[0].reason


@pytest.mark.npu
def test_opcheck_is_asked_about_the_same_mutants(matrix: Matrix) -> None:
    passed = {v.kind for v in matrix.opcheck_compared if not v.opcheck}
    assert {"meta-size-as-number", "meta-branches-on-size"} <= passed
    assert "meta-same-width-dtype" not in passed
    text = kill_matrix.render(matrix)
    assert "torch.library.opcheck, given the same cases, finds" in text
    lines = [line for line in text.splitlines() if line.startswith("  passes, finds ")]
    assert [line.split()[5] for line in lines] == [
        k.kind for k in matrix.beyond_opcheck if k.found_by_opcheck < k.killed
    ]
    assert any("0 of 1" in line and "meta-branches-on-size" in line for line in lines)
    records = {found["kind"]: found for found in matrix.to_json()["opcheck"]}
    assert records["meta-branches-on-size"] == {
        "kind": "meta-branches-on-size", "killed": 1, "found_by_opcheck": 0
    }  # fmt: skip
    assert len(records) > 30


@pytest.mark.npu
def test_survivors_and_operators_that_break_do_not_pass(weak: Matrix) -> None:
    assert not weak.passes
    assert {(v.operator, v.kind) for v in weak.survivors} >= {("unruled", "meta-size-off-by-one")}
    broken = next(b for b in weak.baselines if b.operator == "writes")
    assert broken.outcome == "breaks"
    assert "the kernel writes x" in broken.reason
    text = kill_matrix.render(weak)
    assert "SURVIVED: unruled [library] meta-size-off-by-one (result 0)" in text
    assert "Give a case that shows it" in text


def test_there_are_kinds_of_every_group_each_with_a_page() -> None:
    assert len(KINDS) >= 25
    assert {kind.group for kind in KINDS.values()} == {"meta", "schema", "converter", "prototype"}
    for name, kind in KINDS.items():
        assert kind.page().startswith(name)
        assert kind.breaks.endswith(".")
        assert kind.matters.endswith(".")


def _matrix(outcome: str, **values: Any) -> Matrix:
    baseline = Baseline("ops.yaml", "f", "library", "ge", values.pop("entered", "enters"), "", None)
    killed = Verdict("ops.yaml", "f", "library", "converter-missing", "converter", KILLED, "ge", "none")
    other = Verdict("ops.yaml", "f", "library", "converter-raises", "converter", outcome)
    return Matrix(Runtime("stand-in", "2.13", "2.13", ""), (baseline,), (killed, other))


@pytest.mark.parametrize(
    ("outcome", "passes"), [(KILLED, True), (EQUIVALENT, True), (NOT_APPLICABLE, True), (SURVIVED, False)]
)
def test_one_survivor_fails(outcome: str, passes: bool) -> None:
    found = _matrix(outcome)
    assert found.passes is passes
    assert json.loads(kill_matrix.render_json(found))["passes"] is passes


def test_nothing_killed_or_not_entered_fails() -> None:
    assert not _matrix(KILLED, entered="breaks").passes
    assert not Matrix(Runtime("none", "", "", ""), (), ()).passes
    found = _matrix(EQUIVALENT)
    assert not Matrix(found.runtime, found.baselines, found.verdicts[1:]).passes
    # Kills of an operator of that name in another file are no kills of this one.
    other = replace(found.baselines[0], file="other.yaml")
    assert not Matrix(found.runtime, (*found.baselines, other), found.verdicts).passes


class _Bench:
    """Judges the unmutated operator as told."""

    def __init__(self, stage: str) -> None:
        self.stage = stage

    def judge(self, item: object) -> Judgement:
        return Judgement(self.stage, "")


def _held(
    monkeypatch: pytest.MonkeyPatch, healthy: bool, stage: str, count: int, killed_by: str = "dynamo"
) -> tuple[list[str], int | None]:
    """Hold back verdicts and commit them; give what was sent and how many must be looked at again."""
    events: list[dict[str, Any]] = []
    operator = object.__new__(worker._Operator)
    operator.bench = _Bench(stage)  # type: ignore[assignment]
    operator.held = [
        {"kind": "meta-raises", "place": str(i), "outcome": KILLED, "stage": killed_by} for i in range(count)
    ]
    monkeypatch.setattr(operator, "_send", lambda event, **values: events.append({"event": event, **values}))
    monkeypatch.setattr(worker, "_healthy", lambda original: healthy)
    try:
        operator._commit(None)  # type: ignore[arg-type]
    except worker.Polluted:
        pass
    again = next((e["again"] for e in events if e["event"] == "polluted"), None)
    return [e["place"] for e in events if e["event"] == "mutant"], again


@pytest.mark.parametrize(
    ("healthy", "stage", "count", "sent", "again"),
    [
        (True, "", 3, ["0", "1", "2"], None),
        # One of the three broke the process: the verdicts after it may be about that.
        (False, "", 3, [], 3),
        (True, "dynamo", 3, [], 3),
        # The only one broke it: its verdict came first.
        (False, "", 1, ["0"], 0),
    ],
)
def test_verdicts_count_only_if_the_unmutated_operator_still_enters(
    monkeypatch: pytest.MonkeyPatch, healthy: bool, stage: str, count: int, sent: list[str], again: int | None
) -> None:
    assert _held(monkeypatch, healthy, stage, count) == (sent, again)


def test_mutants_that_only_fakes_ran_need_no_compile_of_the_unmutated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert _held(monkeypatch, True, "dynamo", 2, killed_by="meta") == (["0", "1"], None)
    assert _held(monkeypatch, False, "", 2, killed_by="meta") == ([], 2)
    assert _held(monkeypatch, True, "dynamo", 2, killed_by="host") == ([], 2)


def test_an_operator_that_is_finished_is_not_judged_by_the_next_worker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[list[str]] = []

    def worker_(_module: str, given: Any, take: Any, *_: object, **__: object) -> str:
        names = [name for _, name, _ in given["request"]["subjects"]]
        asked.append(names)
        for name in names:
            place = {"file": "ops.yaml", "operator": name}
            if name == "second" and len(asked) == 1:
                take({"event": "polluted", "again": 1, **place})
                return ""
            take({"event": "baseline", "outcome": "enters", "stage": "", "reason": "", **place})
            take({"event": "finished", **place})
        return ""

    monkeypatch.setattr(run_module, "run_worker", worker_)
    subjects = tuple(("ops.yaml", name, "case1") for name in ("first", "second", "third"))
    run = run_module._Run(Request("ge", "library", "npu", ("ops.yaml",), subjects), 1.0, None, None, None)
    run.finish(threading.Event())
    assert asked == [["first", "second", "third"], ["second", "third"]]
    assert [baseline.operator for baseline in run.baselines] == ["first", "second", "third"]
