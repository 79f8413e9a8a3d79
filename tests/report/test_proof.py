"""The proof report for people and for machines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from opkit.model.diagnostic import Diagnostic, Mark, Severity
from opkit.prove.protocol import (
    ModeResult,
    OperatorResult,
    Proof,
    Runtime,
    Scope,
    StageResult,
    failed,
    not_run,
    proved,
)
from opkit.prove.selection import why_not_asked
from opkit.report import proof as full
from opkit.report import proof_json

COMMON: tuple[StageResult, ...] = (
    proved("schema", registered="npu::f(Tensor(a!) x) -> Tensor"),
    proved("meta", **{"outputs": ["float16[5, 7] npu:0"], "symbolic outputs": ["float16[s0, 7] npu:0"]}),
    proved("host", kernel="reference function", written=["x"]),
    proved("dynamo", graphs=1, **{"operator nodes": 1}),
)
CAPTURED = proved(
    "npugraph_ex",
    tasks=["npu::f"],
    captures={"first call": 1, "replay": 0},
    recompiles=0,
    **{
        "replay function": True,
        "kernel calls": {"before the replay": 2, "during the replay": 0},
        "written by replay": ["x"],
    },
    sizes="3 sets of sizes, one FX graph, 3 captures",
)
GRAPH = proved(
    "ge",
    graph=["arg0_1: Data() -> y", "F: F(x=arg0_1:0) -> x, z", "NetOutput: NetOutput(input0=F:1) -> "],
    runs=2,
    **{"written back": {"NetOutput:1": "x"}, "attributes seen with one value": {"n": "4 is refused: why"}},
    sizes="3 sets of sizes, 1 graph",
)
VALUES = proved("values", reference="ref.py:f", compared=["first call", "replay"])
RUNTIME = Runtime("stand-in", "2.13.0", "2.13.0", "Ascend910B2")


@pytest.fixture
def report() -> Proof:
    good = OperatorResult(
        "f",
        "library",
        "default",
        (
            ModeResult("npugraph_ex", (*COMMON, CAPTURED, VALUES), ("case made from the schema",)),
            ModeResult("ge", (*COMMON, GRAPH, VALUES), ("case made from the schema",)),
        ),
    )
    broken = (
        *COMMON[:1],
        failed("meta", "no Meta kernel is registered for npu::g: fake tensors cannot run it"),
        *(not_run(name, "because meta failed") for name in ("host", "dynamo")),
    )
    bad = OperatorResult(
        "g",
        "custom-op",
        "default",
        (
            ModeResult("npugraph_ex", (*broken, not_run("npugraph_ex", "because meta failed"))),
            ModeResult("ge", (*broken, not_run("ge", "because meta failed"))),
        ),
    )
    return Proof(RUNTIME, (good, bad))


def test_full(report: Proof, snapshot: object) -> None:
    assert full.render(report) == snapshot


def test_the_cause_comes_first() -> None:
    after = [not_run(name, "because meta failed") for name in ("host", "dynamo")]
    modes = tuple(
        ModeResult(mode, (proved("schema"), failed("meta", f"no {mode}"), *after))
        for mode in ("npugraph_ex", "ge")
    )
    text = full.render(Proof(RUNTIME, (OperatorResult("f", "library", "c", modes),)))
    places = [text.index(part) for part in ("no npugraph_ex", "host (npugraph_ex)", "no ge", "host (ge)")]
    assert places == sorted(places)


def test_no_line_is_wider_than_asked(report: Proof) -> None:
    for width in (80, 100, 140):
        assert max(map(len, full.render(report, width).splitlines())) <= width


def test_color_only_when_asked(report: Proof) -> None:
    assert "\x1b[" not in full.render(report)
    assert "\x1b[" in full.render(report, color=True)


def test_markup_in_names_is_text() -> None:
    stage = failed("schema", "[red]x[/red] :smile: [/]")
    proof = Proof(RUNTIME, (OperatorResult("f", "library", "c", (ModeResult("ge", (stage,)),)),))
    assert "[red]x[/red] :smile: [/]" in full.render(proof)


def test_a_gate_names_a_file_as_one_does_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "folder" / "ops.yaml"
    file.parent.mkdir()
    file.write_text("custom:\n  - func: f(Tensor x) -> Tensor\n")
    found = Diagnostic("OPK332", Severity.ERROR, "f promises nothing", Mark(str(file), 2, 5, 4), "", "f")
    proof = Proof(RUNTIME, (), gate=(found,))
    monkeypatch.chdir(tmp_path)
    text = full.render(proof)
    assert "--> folder/ops.yaml:2:5\n" in text
    assert "func: f(Tensor x)" in text
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert f"--> {file}:2:5\n" in full.render(proof)


def test_stages_that_nobody_asked_for_take_no_lines() -> None:
    stages = (
        proved("schema"),
        not_run("meta", "because host failed"),
        not_run("dynamo", why_not_asked(["host"])),
    )
    operators = (OperatorResult("f", "library", "c", (ModeResult("ge", stages),)),)
    text = full.render(Proof(RUNTIME, operators, stages=("host",)))
    assert "because host failed" in text
    assert "dynamo" not in text
    assert "of stage host only" in text
    assert "dynamo" in full.render(Proof(RUNTIME, operators))


def test_nothing_to_prove_has_no_table() -> None:
    text = full.render(Proof(RUNTIME, (), scope=Scope(nothing="no operator has changed")))
    assert text.strip() == "nothing to prove: no operator has changed"


def test_json(report: Proof) -> None:
    value = json.loads(proof_json.render(report))
    assert value == report.to_json()
    assert [mode["verdict"] for op in value["operators"] for mode in op["modes"].values()] == [
        "enters",
        "enters",
        "breaks",
        "breaks",
    ]


def test_explain(report: Proof) -> None:
    assert report.explain().splitlines() == [
        f"g [custom-op, case default] {mode}: breaks, "
        "meta: no Meta kernel is registered for npu::g: fake tensors cannot run it"
        for mode in ("npugraph_ex", "ge")
    ]
