"""A proof in the forms that CI systems read."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from lxml import etree
from proofs import HARM, breaking, entering, harmful, proof, unjudged

from opkit.cli import proof_output
from opkit.prove.protocol import Proof
from opkit.report.proof_findings import findings
from opkit.report.proof_formats import FORMATS, render

SCHEMAS = Path(__file__).parent / "schemas"


@pytest.fixture
def mixed() -> Proof:
    return proof(entering(), breaking(), breaking(style="custom-op"), unjudged())


def valid_sarif(text: str) -> list[dict[str, object]]:
    document = json.loads(text)
    schema = json.loads((SCHEMAS / "sarif-2.1.0-rtm.5.json").read_text())
    jsonschema.Draft4Validator(schema).validate(document)
    (run,) = document["runs"]
    return run["results"]  # type: ignore[no-any-return]


def valid_junit(text: str) -> etree._Element:
    tree = etree.fromstring(text.encode())
    etree.XMLSchema(etree.parse(str(SCHEMAS / "jenkins-junit.xsd"))).assertValid(tree)
    return tree


def test_a_cause_is_found_once_whatever_the_modes_and_styles(mixed: Proof) -> None:
    first, second = findings(mixed)
    assert (first.stage, first.verdict) == ("meta", "breaks")
    assert (first.modes, first.styles) == (("npugraph_ex", "ge"), ("library", "custom-op"))
    assert (second.stage, second.verdict, second.modes) == ("schema", "not run", ("ge",))


def test_two_causes_of_one_operator_are_two() -> None:
    found = findings(proof(breaking(reason="one"), breaking(style="custom-op", reason="two")))
    assert [f.reason for f in found] == ["meta: one", "meta: two"]


def test_concise(mixed: Proof) -> None:
    default, reason, ended = (
        "case default",
        "meta: no Meta kernel, 100% sure",
        "schema: because somebody ended it",
    )
    assert render(mixed, "concise").splitlines() == [
        f"ops.yaml:9: g does not enter npugraph_ex, ge [library, custom-op; {default}]: {reason}",
        f"/elsewhere/b c.yaml: h is not known to enter ge [library; {default}]: {ended}",
        "2 of 7 enter",
    ]
    assert render(proof(entering()), "concise") == "2 of 2 enter\n"


def test_github(mixed: Proof) -> None:
    first, second = render(mixed, "github").splitlines()
    assert first.startswith(
        "::error file=ops.yaml,line=9,col=1,endColumn=2,title=prove-meta::g does not enter"
    )
    assert "100%25 sure%0Ahelp: reproduce with `opkit prove ops.yaml --op g --style library" in first
    assert second.startswith("::error title=prove-schema::h is not known to enter")
    assert render(proof(entering()), "github") == ""


def test_sarif_is_valid_and_points_at_the_declaration(mixed: Proof) -> None:
    first, second = valid_sarif(render(mixed, "sarif"))
    assert (first["ruleId"], first["level"]) == ("prove-meta", "error")
    (location,) = first["locations"]  # type: ignore[misc]
    assert location["physicalLocation"]["artifactLocation"]["uri"] == "ops.yaml"
    assert location["physicalLocation"]["region"]["startLine"] == 9
    assert (second["ruleId"], second["locations"]) == ("prove-schema", [])
    assert valid_sarif(render(proof(entering()), "sarif")) == []


def test_junit_is_valid_and_has_a_case_for_each_graph(mixed: Proof) -> None:
    tree = valid_junit(render(mixed, "junit"))
    assert [suite.get("name") for suite in tree] == ["ops.yaml", "/elsewhere/b c.yaml"]
    assert (tree.get("tests"), tree.get("failures"), tree.get("errors")) == ("7", "4", "1")
    cases = {case.get("name"): case for case in tree.iter("testcase")}
    assert cases["f[ge-library-default]"].find("failure") is None
    failure = cases["g[ge-custom-op-default]"].find("failure")
    assert failure.get("message") == "meta: no Meta kernel, 100% sure"
    assert failure.text.splitlines()[1:] == [
        "ops.yaml:9", "opkit prove ops.yaml --op g --style custom-op --mode ge"
    ]  # fmt: skip
    assert cases["h[ge-library-default]"].find("error") is not None
    assert "note: a note" in cases["f[ge-library-default]"].find("system-out").text


@pytest.mark.parametrize("format_", FORMATS)
def test_no_text_breaks_a_format(format_: str) -> None:
    text = render(harmful(), format_)
    if format_ == "junit":
        (case,) = valid_junit(text).iter("testcase")
        assert "alert(1)" in case.get("name")
    elif format_ == "sarif":
        assert len(valid_sarif(text)) == 1
    elif format_ == "github":
        assert len(text.splitlines()) == 1
    elif format_ == "json":
        assert json.loads(text)["operators"][0]["name"] == HARM


@pytest.mark.parametrize("format_", FORMATS)
def test_a_proof_of_nothing_can_be_told(format_: str) -> None:
    text = render(proof(), format_)
    assert text == "" or text.endswith("\n")
    if format_ == "junit":
        valid_junit(text)
    if format_ == "sarif":
        valid_sarif(text)


def test_the_findings_of_check_are_valid_sarif() -> None:
    from opkit.model.diagnostic import Diagnostic, Mark, Severity
    from opkit.report import diagnostics

    place = Mark("a b.yaml", 2, 9, 5)
    found = Diagnostic("OPK011", Severity.ERROR, "m", place, "h", "f", (("first", Mark("c.yaml", 1, 1)),))
    assert len(valid_sarif(diagnostics.render([found], "sarif"))) == 1


def test_an_unknown_format() -> None:
    with pytest.raises(ValueError, match="unknown format 'xml'"):
        render(proof(), "xml")


def test_the_command_offers_every_format() -> None:
    assert proof_output.FORMATS == FORMATS
