"""Verdicts, and the ledger that keeps what does not enter."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from opkit.audit.findings import CAN, CANNOT, UNKNOWN, Finding, Survey, judged
from opkit.audit.ledger import differences, read, write
from opkit.errors import OpkitError
from opkit.report.survey import MOST, render

GOOD = Finding(
    name="npu::good",
    schema="npu::good(Tensor x) -> Tensor",
    meta="python",
    signature=(),
    mutated=(),
    mutation_problem="",
    converter="explicit",
    automatic="",
    kernel="aclnn",
    launches=("aclnnGood",),
    rule=False,
    corrected=False,
    no_rule="",
    returns_argument=False,
)


def finding(**changes: object) -> Finding:
    changed = dataclasses.replace(GOOD, **changes)  # type: ignore[arg-type]
    return dataclasses.replace(changed, graphs=judged(changed))


def survey(*findings: Finding) -> Survey:
    return Survey("npu", "stand-in", "2.13.0", "2.13.0", "Ascend910B2", findings)


@pytest.mark.parametrize(
    ("changes", "npugraph_ex", "ge", "reason"),
    [
        ({}, CAN, CAN, ""),
        ({"meta": "none"}, CANNOT, CANNOT, "no Meta kernel"),
        ({"meta": "none", "no_rule": "it always raises"}, CANNOT, CANNOT, "it always raises"),
        ({"meta": "none", "rule": True}, CAN, CAN, "opkit.register"),
        ({"signature": ("it has no parameter for `y`",)}, CANNOT, CANNOT, "no parameter for `y`"),
        ({"signature": ("`y` defaults to 1 in the schema and to 2 in the function",)}, CAN, CAN, "to 2"),
        ({"mutation_problem": "it writes `out`"}, CANNOT, CANNOT, "it writes `out`"),
        ({"returns_argument": True}, CANNOT, CANNOT, "argument itself"),
        ({"meta": "composite"}, UNKNOWN, UNKNOWN, "composite"),
        ({"kernel": "aclop", "launches": ("aclop Good",)}, CANNOT, CAN, "aclop Good"),
        ({"kernel": "partly aclop", "launches": ("aclop A",)}, CAN, CAN, "every argument"),
        ({"kernel": "unknown"}, UNKNOWN, CAN, "no call"),
        ({"converter": "refuses"}, CAN, CANNOT, "not implemented"),
        ({"converter": "none", "automatic": "`p` is a Scalar"}, CAN, CANNOT, "`p` is a Scalar"),
        ({"converter": "none"}, CAN, UNKNOWN, "Ascend IR"),
        ({"converter": "unknown"}, CAN, UNKNOWN, "torchair"),
    ],
)
def test_verdicts(changes: dict[str, object], npugraph_ex: str, ge: str, reason: str) -> None:
    graphs = finding(**changes).graphs
    assert (graphs["npugraph_ex"].verdict, graphs["ge"].verdict) == (npugraph_ex, ge)
    assert reason in f"{graphs['npugraph_ex'].reason} {graphs['ge'].reason}"


def test_what_was_recorded_is_no_difference(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    now = survey(finding(), finding(name="npu::bad", meta="none"))
    assert write(path, now)
    assert not write(path, now)
    assert list(differences(read(path), now)) == []


def test_what_got_worse_is_a_difference(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    write(path, survey(finding(), finding(name="npu::b", kernel="unknown")))
    worse = survey(finding(converter="refuses"), finding(name="npu::b", kernel="aclop"))
    found = list(differences(read(path), worse))
    assert len(found) == 2
    assert str(found[0]).startswith("npu::good: ge: worse: cannot")
    assert str(found[1]).startswith("npu::b: npugraph_ex: worse: cannot")


def test_an_exception_that_is_no_longer_needed_is_a_difference(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    write(path, survey(finding(kernel="aclop"), finding(name="npu::gone", kernel="aclop")))
    found = list(differences(read(path), survey(finding())))
    assert [str(difference).split(";")[0] for difference in found] == [
        "npu::good: npugraph_ex: can enter now",
        "npu::gone: npugraph_ex: the operator is gone",
    ]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"exceptions": {}, "ledger_version": 99}'])
def test_a_file_that_is_no_ledger_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "ledger.json"
    with pytest.raises(OpkitError):
        read(path)
    path.write_text(text)
    with pytest.raises(OpkitError):
        read(path)


def test_the_report_names_reasons_and_totals() -> None:
    text = render(
        survey(finding(), finding(name="npu::bad", meta="none"), finding(name="npu::old", kernel="aclop"))
    )
    assert "1 cannot: it has no Meta kernel\n      npu::bad" in text
    assert "npugraph_ex: 1 can enter, 2 cannot, 0 unknown" in text
    assert "ge: 2 can enter, 1 cannot, 0 unknown" in text


def test_the_report_shows_some_names_of_a_reason_and_counts_the_rest() -> None:
    names = [f"npu::bad{number}" for number in range(MOST + 2)]
    found = survey(*(finding(name=name, meta="none") for name in names))
    text = " ".join(render(found).split())
    assert f"{names[0]}, " in text
    assert f"{names[MOST - 1]}, and 2 more (-v)" in text
    assert f"{names[-1]}: Meta none" in render(found, verbose=True)
