"""How findings become verdicts, and what a dead worker leaves."""

from __future__ import annotations

from dataclasses import replace

import opkit
from opkit.prove.collect import Collector, assemble
from opkit.prove.plan import Plan
from opkit.prove.protocol import (
    BREAKS,
    ENTERS,
    NOT_RUN,
    STAGES,
    ModeResult,
    Proof,
    Request,
    Runtime,
    failed,
    not_run,
    proved,
)

F = ("ops.yaml", "f", "default")
G = ("ops.yaml", "g", "default")


def request(style: str = "library", mode: str = "ge", optional: bool = False) -> Request:
    return Request(mode, style, "npu", ("ops.yaml",), (F, G), optional_style=optional)


def event(kind: str, subject: tuple[str, str, str] = F, **values: object) -> dict[str, object]:
    file, operator, case = subject
    return {"event": kind, "file": file, "operator": operator, "case": case, **values}


def complete(collector: Collector, subject: tuple[str, str, str], style: str = "library") -> None:
    for name in STAGES[collector.request.mode]:
        collector.take(event("begin", subject, stage=name, style=style))
        collector.take(event("stage", subject, stage=proved(name).to_json()))
    collector.take(event("finished", subject))


def test_a_verdict_is_as_strong_as_its_weakest_stage() -> None:
    assert ModeResult("ge", (proved("schema"), proved("ge"))).verdict == ENTERS
    assert ModeResult("ge", (proved("schema"), failed("ge", "why"))).verdict == BREAKS
    assert ModeResult("ge", (proved("schema"), not_run("ge", "because"))).verdict == NOT_RUN
    assert ModeResult("ge", (not_run("schema", "x"), failed("ge", "why"))).verdict == BREAKS
    assert ModeResult("ge", ()).verdict == NOT_RUN
    assert ModeResult("ge", (proved("schema"), failed("ge", "why"))).reason == "ge: why"


def test_nothing_proved_is_not_a_success() -> None:
    assert not Proof(Runtime("none", "", "", ""), ()).enters


def test_a_complete_run_enters() -> None:
    collector = Collector(request())
    for subject in (F, G):
        complete(collector, subject)
    collector.ended("")
    assert assemble(Plan(("ops.yaml",), modes=("ge",)), [collector]).enters


def test_death_is_the_failure_of_the_stage_it_came_in() -> None:
    collector = Collector(request())
    collector.take(event("begin", stage="schema", style="library"))
    collector.take(event("stage", stage=proved("schema").to_json()))
    collector.take(event("begin", stage="meta", style="library"))
    collector.ended("the process died of signal SIGSEGV")
    assert collector.remaining() == (G,)
    result = collector.result(F)
    assert result.reason == "meta: the process died of signal SIGSEGV"
    assert [s.verdict for s in result.stages] == ["proved", "failed"] + ["not run"] * (len(result.stages) - 2)


def test_a_worker_that_somebody_ended_says_nothing_about_the_operator() -> None:
    collector = Collector(request())
    collector.take(event("begin", stage="meta", style="library"))
    collector.ended("the process died of signal SIGKILL")
    collector.ended("the process died of signal SIGTERM; its last output:\n  none")
    assert collector.remaining() == ()
    for subject in (F, G):
        result = collector.result(subject)
        assert result.verdict == NOT_RUN
        assert "because somebody ended it, or the machine is out of memory" in result.reason
        assert {s.verdict for s in result.stages} == {NOT_RUN}


def test_death_before_any_operator_breaks_all() -> None:
    collector = Collector(request())
    collector.ended("the process died of exit status 1")
    assert collector.remaining() == ()
    assert all("exit status 1" in collector.result(s).reason for s in (F, G))


def test_a_worker_that_says_nothing_proves_nothing() -> None:
    collector = Collector(request())
    collector.take(event("finished"))
    assert collector.result(F).verdict == NOT_RUN


def test_a_stage_that_does_not_apply_is_left_out_with_a_note() -> None:
    collector = Collector(request())
    for name in STAGES["ge"]:
        if name != "values":
            collector.take(event("stage", stage=proved(name).to_json()))
    collector.take(event("omitted", stage="values", text="values not compared: no reference"))
    result = collector.result(F)
    assert result.verdict == ENTERS
    assert result.notes == ("values not compared: no reference",)


def test_what_the_user_registers_is_listed_once() -> None:
    first, second = Collector(request("library")), Collector(request("custom-op", optional=True))
    complete(first, F, style="import")
    complete(first, G)
    second.take(event("elsewhere", F, text="not proved in custom-op style: why"))
    complete(second, G, style="custom-op")
    proof = assemble(Plan(("ops.yaml",), modes=("ge",)), [first, second])
    assert [(o.name, o.style) for o in proof.operators] == [
        ("f", "import"),
        ("g", "library"),
        ("g", "custom-op"),
    ]
    assert proof.operators[0].modes[0].notes == ("not proved in custom-op style: why",)


def test_json() -> None:
    collector = Collector(request())
    collector.take({"event": "runtime", "kind": "stand-in", "torch": "2", "torch_npu": "2", "soc": "S"})
    collector.take(event("inputs", F, inputs={"x": "float16[B, 8]", "B": [5, 9]}))
    for subject in (F, G):
        complete(collector, subject)
    value = assemble(Plan(("ops.yaml",), modes=("ge",)), [collector]).to_json()
    assert value["schema_version"] == 1
    runtime = {"kind": "stand-in", "torch": "2", "torch_npu": "2", "soc": "S", "opkit": opkit.__version__}
    assert value["runtime"] == runtime
    assert value["operators"][0]["file"] == "ops.yaml"
    assert value["operators"][0]["inputs"] == {"x": "float16[B, 8]", "B": [5, 9]}
    mode = value["operators"][0]["modes"]["ge"]
    assert mode["verdict"] == "enters"
    assert mode["stages"][0] == {"name": "schema", "verdict": "proved", "evidence": {}, "reason": ""}
    assert Request.from_json(request().to_json()) == request()


def test_another_operator_of_the_graph_may_have_been_it() -> None:
    collector = Collector(replace(request(), company=(F[:2], G[:2])))
    before = [stage for stage in STAGES["ge"] if stage not in ("composition", "cache")]
    for name in before:
        collector.take(event("stage", stage=proved(name).to_json()))
    collector.take(event("begin", stage="composition", style="library"))
    collector.ended("the process died of signal SIGABRT; its last output:\n  text")
    # It is tried once more, without the others.
    assert collector.remaining() == (F, G)
    assert list(collector.alone) == [F]
    complete(collector, F)
    result = collector.result(F)
    assert result.verdict == ENTERS
    [note] = result.notes
    assert note.startswith("not proved in one graph with other operators of the file: with them the process")
    # Should it die alone, it is its own failure.
    collector = Collector(replace(request(), company=(F[:2], G[:2])))
    for _ in range(2):
        collector.take(event("begin", stage="composition", style="library"))
        collector.ended("the process died of signal SIGABRT")
    assert collector.result(F).verdict == BREAKS
