"""Proofs as a table of verdicts, one line per operator."""

from __future__ import annotations

from dataclasses import replace

from opkit.prove.protocol import ModeResult, OperatorResult, Proof, Runtime, Scope, failed, not_run, proved
from opkit.report import verdicts

RUNTIME = Runtime("stand-in", "2.13.0", "2.13.0", "Ascend910B2")
GOOD = (proved("schema"), proved("meta"))
BAD = (proved("schema"), failed("meta", "it raises\nin the second line"))
UNKNOWN = (proved("schema"), not_run("meta", "because nobody can tell"))


def operator(name: str, case: str, **stages: tuple) -> OperatorResult:
    modes = tuple(ModeResult(mode, made) for mode, made in stages.items())
    return OperatorResult(name, "installed", case, modes, "ops.yaml")


def table(*operators: OperatorResult, **scope: object) -> list[str]:
    proof = Proof(RUNTIME, operators, (), replace(Scope(installed="torch_npu"), **scope))
    return verdicts.render(proof, 80).splitlines()


def test_the_weakest_case_is_the_verdict_of_an_operator() -> None:
    lines = table(
        operator("f", "one", npugraph_ex=GOOD, ge=GOOD),
        operator("f", "two", npugraph_ex=GOOD, ge=BAD),
        operator("g", "one", npugraph_ex=BAD, ge=BAD),
        operator("h", "one", npugraph_ex=UNKNOWN, ge=GOOD),
        without=("composition",),
    )
    assert [line.split()[:4] for line in lines[:2]] == [
        ["operator", "npugraph_ex", "ge"],
        ["f", "enters", "breaks", "(1"],
    ]
    assert lines[1].endswith("breaks (1 of 2 enter)")
    assert lines[2].strip() == "ge [two]: meta: it raises"
    assert lines[3].split() == ["g", "breaks", "breaks"]
    assert lines[4].strip() == "npugraph_ex, ge: meta: it raises"
    assert lines[5].split() == ["h", "not", "run", "enters"]
    assert lines[6].strip() == "npugraph_ex: meta: because nobody can tell"
    text = "\n".join(lines)
    assert "npugraph_ex: 3 operators: 1 enters, 1 breaks, 1 not run" in text
    assert "ge: 3 operators: 1 enters, 2 breaks; 1 of those that do not enter do so in some of their" in text
    assert "left out: stage composition; `--also` has it run" in text
    assert "4 of 8 enter (3 operators, 4 cases" in text


def test_a_mode_that_an_operator_was_not_proved_in() -> None:
    lines = table(operator("f", "one", ge=GOOD), operator("g", "one", npugraph_ex=GOOD, ge=GOOD))
    assert ["f", "enters", "-"] in [line.split() for line in lines]


def test_nothing_to_prove() -> None:
    assert table(nothing="no operator has changed since HEAD") == [
        "nothing to prove: no operator has changed since HEAD"
    ]


def test_operators_that_were_not_tried_are_listed_with_the_reason() -> None:
    why = {"g": "it has no case", "h": "it always raises", "i": "it has no case"}
    lines = table(operator("f", "one", ge=GOOD), not_proved=why)
    start = lines.index("not run: g, i")
    assert lines[start : start + 4] == [
        "not run: g, i",
        "    because it has no case",
        "not run: h",
        "    because it always raises",
    ]
    assert "not run: 3 more, which were not tried" in lines
