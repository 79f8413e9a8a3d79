"""Which stages run, and what a proof of some stages may say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from opkit.errors import OpkitError
from opkit.prove import selection
from opkit.prove.collect import Collector, assemble
from opkit.prove.plan import Plan, requests
from opkit.prove.protocol import BREAKS, NOT_RUN, PROVED, STAGES, Request, failed, proved
from opkit.prove.selection import modes_to_run, stages_to_run

DYING = Path(__file__).parent / "dying" / "ops.yaml"
SUBJECT = ("ops.yaml", "f", "default")
IDENTITY = {"file": "ops.yaml", "operator": "f", "case": "default"}


def test_the_whole_proof_is_all_stages() -> None:
    for mode, names in STAGES.items():
        assert stages_to_run(mode) == tuple(name for name in names if name not in selection.ON_REQUEST)


@pytest.mark.parametrize(
    ("mode", "asked", "run"),
    [
        ("ge", ["schema"], ("schema",)),
        ("ge", ["meta"], ("schema", "meta")),
        ("ge", ["ge"], ("schema", "host", "ge")),
        ("npugraph_ex", ["meta", "dynamo"], ("schema", "meta", "host", "dynamo")),
        ("npugraph_ex", ["values"], ("schema", "host", "npugraph_ex", "values")),
    ],
)
def test_a_stage_brings_what_it_needs(mode: str, asked: list[str], run: tuple[str, ...]) -> None:
    assert stages_to_run(mode, asked) == run


def test_a_stage_by_request_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "STAGES", {"ge": ("schema", "ge", "slow", "values")})
    monkeypatch.setattr(selection, "ON_REQUEST", frozenset({"slow"}))
    assert stages_to_run("ge") == ("schema", "ge", "values")
    assert stages_to_run("ge", also=["slow"]) == ("schema", "ge", "slow", "values")
    # It is not in NEEDS, so it needs whatever comes before it.
    assert stages_to_run("ge", ["slow"]) == ("schema", "ge", "slow")


@pytest.mark.parametrize(
    ("asked", "modes"),
    [
        ([], ("npugraph_ex", "ge")),
        (["meta", "host"], ("npugraph_ex",)),
        (["ge"], ("ge",)),
        (["ge", "meta"], ("ge",)),
        (["dynamo"], ("npugraph_ex", "ge")),
    ],
)
def test_modes(asked: list[str], modes: tuple[str, ...]) -> None:
    assert modes_to_run(("npugraph_ex", "ge"), asked) == modes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stages": ("nope",)}, "unknown stage 'nope'"),
        ({"stages": ("ge",), "modes": ("npugraph_ex",)}, "stage ge is not part of npugraph_ex"),
        ({"also": ("meta",)}, "--also meta: is part of every proof"),
        ({"also": ("nope",)}, "--also nope: is none"),
    ],
)
def test_stages_that_cannot_be(options: dict, message: str) -> None:
    with pytest.raises(OpkitError, match=re.escape(message)):
        requests(Plan(files=(str(DYING),), **options))


def test_stages_are_in_the_request_and_survive_json() -> None:
    [request, *_] = requests(Plan(files=(str(DYING),), stages=("meta",)))
    assert Request.from_json(request.to_json()).stages == ("meta",)


def test_cases_that_are_refused_have_no_graph(tmp_path: Path) -> None:
    path = tmp_path / "ops.yaml"
    path.write_text(
        "custom:\n  - func: f(Tensor x) -> Tensor\n    meta: {out: {size: x, dtype: x}}\n"
        "    cases: [{name: good, x: 'f16[B]', B: [3, 5]}, {name: bad, x: 'f16[B]', B: [3], raises: true}]\n"
    )

    def cases(*stages: str) -> list[str]:
        [request, *_] = requests(Plan(files=(str(path),), stages=stages))
        return [case for _, _, case in request.subjects]

    assert cases() == cases("dynamo", "host") == ["good", "bad"]
    assert cases("dynamo") == ["good"]
    path.write_text(path.read_text().replace("{name: good, x: 'f16[B]', B: [3, 5]}, ", ""))
    with pytest.raises(OpkitError, match="no case for stage dynamo"):
        cases("dynamo")


def collected(*events: dict, stages: tuple[str, ...]) -> Collector:
    collector = Collector(Request("ge", "library", "npu", (), (SUBJECT,), stages=stages))
    for event in events:
        collector.take({**IDENTITY, "style": "library", **event})
    collector.take({"event": "finished", **IDENTITY})
    return collector


def stage(result: object) -> dict:
    return {"event": "stage", "stage": result.to_json()}  # type: ignore[attr-defined]


def test_some_stages_never_enter() -> None:
    collector = collected(stage(proved("schema")), stage(proved("meta")), stages=("meta",))
    proof = assemble(Plan(("ops.yaml",), modes=("ge",), stages=("meta",)), [collector])
    [mode] = proof.operators[0].modes
    assert (mode.verdict, mode.reason) == (PROVED, "")
    assert [s.verdict for s in mode.stages] == [PROVED, PROVED, *[NOT_RUN] * (len(STAGES["ge"]) - 2)]
    assert mode.stages[-1].reason == "because only stage meta was asked for"
    assert proof.holds
    assert not proof.enters
    assert proof.to_json()["stages"] == ["meta"]


def test_what_a_stage_needs_may_keep_it_from_running() -> None:
    collector = collected(stage(proved("schema")), stage(failed("host", "why")), stages=("ge",))
    result = collector.result(SUBJECT)
    assert (result.verdict, result.reason) == (BREAKS, "host: why")
    assert [s.reason for s in result.stages if s.name == "ge"] == ["because host failed"]


def test_a_stage_that_was_asked_for_is_not_omitted() -> None:
    omitted = {"event": "omitted", "stage": "values", "text": "there is no reference"}
    collector = collected(*(stage(proved(n)) for n in ("schema", "host", "ge")), omitted, stages=("values",))
    result = collector.result(SUBJECT)
    assert (result.verdict, result.reason) == (NOT_RUN, "values: because there is no reference")
    collector = collected(stage(proved("host")), omitted, stages=("host", "values"))
    assert collector.result(SUBJECT).verdict == NOT_RUN
