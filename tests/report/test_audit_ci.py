"""The reports of `opkit audit` for CI: what fails there is what the command fails for."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree

from opkit.audit.findings import CAN, CANNOT, UNKNOWN, Finding, Survey, Verdict
from opkit.audit.ledger import Difference
from opkit.audit.protocol import AGREES, DIFFERS, Comparison, HostReport, Judgement
from opkit.report import audit_ci


def finding(name: str, npugraph_ex: Verdict, ge: Verdict) -> Finding:
    verdicts = {"npugraph_ex": npugraph_ex, "ge": ge}
    return Finding(
        name, "", "none", (), (), "", "none", "", "unknown", (), False, False, "", False, graphs=verdicts
    )


SURVEY = Survey(
    "npu",
    "stand-in",
    "2.13.0",
    "2.13.0",
    "Ascend910B2",
    (
        finding("npu::good", Verdict(CAN), Verdict(CAN)),
        finding("npu::bad", Verdict(CANNOT, "no <Meta>\x00kernel"), Verdict(UNKNOWN, "it\nis new")),
    ),
    ("npu::dead: asked for its kernels: SIGSEGV",),
)
WORSE = Difference("npu::bad", "ge", "worse: cannot")
GONE = Difference("npu::gone", "ge", "the operator is gone")
HOST = HostReport(
    "stand-in",
    "2.13.0",
    "2.13.0",
    (
        Judgement("ops.yaml", "f", "910B", (Comparison("case1", AGREES, "f16[2]", "f16[2]"),), 7),
        Judgement("ops.yaml", "f", "950", (Comparison("case1", DIFFERS, "f16[2]", "f16[3]"),), 7),
        Judgement("ops.yaml", "g", "910B", (Comparison("case1", "both raise", "no", "no"),), 9),
    ),
)


def outcomes(text: str) -> dict[str, str]:
    root = ElementTree.fromstring(text)
    found = {}
    for case in root.iter("testcase"):
        children = [child.tag for child in case]
        found[f"{case.get('classname')} {case.get('name')}"] = children[0] if children else "passed"
    assert root.get("tests") == str(len(found))
    assert root.get("failures") == str(list(found.values()).count("failure"))
    assert root.get("skipped") == str(list(found.values()).count("skipped"))
    return found


def test_a_survey_as_junit() -> None:
    text = audit_ci.render(audit_ci.survey_rows(SURVEY, [WORSE, GONE]), "junit", "opkit audit npu")
    assert outcomes(text) == {
        "npu::good npugraph_ex": "passed",
        "npu::good ge": "passed",
        "npu::bad npugraph_ex": "skipped",
        "npu::bad ge": "failure",
        "npu::gone ge": "failure",
        "npu workers": "skipped",
    }


def test_without_a_ledger_nothing_fails() -> None:
    text = audit_ci.render(audit_ci.survey_rows(SURVEY), "junit", "opkit audit npu")
    assert "failure" not in outcomes(text).values()


def test_a_judgement_as_junit() -> None:
    text = audit_ci.render(audit_ci.host_rows(HOST), "junit", "opkit audit --host")
    assert outcomes(text) == {
        "f [910B] case1": "passed",
        "f [950] case1": "failure",
        "g [910B] case1": "passed",
        "g compared": "failure",
    }


def test_lines_name_the_place() -> None:
    text = audit_ci.render(audit_ci.host_rows(HOST), "concise", "")
    assert text.splitlines() == [
        "ops.yaml:7:1: f [950]: case1: differs; host: f16[2]; rule: f16[3]",
        "ops.yaml:9:1: g: compared: refused every call on every SoC, so nothing was compared",
    ]
    lines = audit_ci.render(audit_ci.survey_rows(SURVEY), "concise", "").splitlines()
    assert lines[1] == "npu::bad: ge: unknown: it; is new"


def test_annotations_and_sarif() -> None:
    rows = audit_ci.host_rows(HOST)
    assert audit_ci.render(rows, "github", "").startswith("::error file=ops.yaml,line=7")
    results = json.loads(audit_ci.render(rows, "sarif", ""))["runs"][0]["results"]
    assert [(r["ruleId"], r["level"]) for r in results] == [("differs", "error"), ("not-compared", "error")]
    notes = json.loads(audit_ci.render(audit_ci.survey_rows(SURVEY), "sarif", ""))["runs"][0]["results"]
    assert {r["level"] for r in notes} == {"note"}
