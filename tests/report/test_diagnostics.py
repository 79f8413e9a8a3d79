from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest
from lxml import etree

from opkit.model.diagnostic import Diagnostic, Mark, Severity
from opkit.report.diagnostics import FORMATS, render

TEXT = "first line\n\t中文 x = Tensr y, <&> 100%\n" + "a" * 300 + "ERROR" + "b" * 300 + "\n"


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("ops.yaml").write_text(TEXT, encoding="utf-8")
    return "ops.yaml"


def diagnostics(source: str) -> list[Diagnostic]:
    related = (("first", Mark(source, 1, 1, 5)),)
    place = Mark(source, 2, 9, 5)
    return [
        Diagnostic("OPK011", Severity.ERROR, "unknown <type> & 100%", place, "a: b,\nc", "my_op", related),
        Diagnostic("OPK103", Severity.NOTE, "a note", Mark(source, 1, 7, 4)),
        Diagnostic("OPK001", Severity.WARNING, "no place", None),
    ]


def test_full(source: str) -> None:
    text = render(diagnostics(source), "full")
    assert text == (
        "OPK011 error: unknown <type> & 100%\n"
        " --> ops.yaml:2:9\n"
        "  |\n"
        "2 |  中文 x = Tensr y, <&> 100%\n"
        "  |           ^^^^^\n"
        "note: first\n"
        " --> ops.yaml:1:1\n"
        "  |\n"
        "1 | first line\n"
        "  | -----\n"
        "help: a: b,\nc\n"
        "\n"
        "OPK103 note: a note\n"
        " --> ops.yaml:1:7\n"
        "  |\n"
        "1 | first line\n"
        "  |       ^^^^\n"
        "\n"
        "OPK001 warning: no place\n"
    )


def test_long_lines_are_cut_around_the_place(source: str) -> None:
    (excerpt, caret) = render(
        [Diagnostic("OPK010", Severity.ERROR, "m", Mark(source, 3, 301, 5))], "full"
    ).splitlines()[-2:]
    assert len(excerpt) < 130
    start = caret.index("^")
    assert excerpt[start : start + caret.count("^")] == "ERROR"


def test_a_source_that_is_gone_has_no_excerpt(source: str) -> None:
    gone = [Diagnostic("OPK010", Severity.ERROR, "m", Mark("gone.yaml", 3, 1))]
    short = [Diagnostic("OPK010", Severity.ERROR, "m", Mark(source, 99, 1))]
    assert render(gone, "full") == "OPK010 error: m\n --> gone.yaml:3:1\n"
    assert render(short, "full") == "OPK010 error: m\n  --> ops.yaml:99:1\n"


def test_concise(source: str) -> None:
    assert render(diagnostics(source), "concise").splitlines() == [
        "ops.yaml:2:9: error OPK011 unknown <type> & 100%",
        "ops.yaml:1:7: note OPK103 a note",
        "warning OPK001 no place",
    ]


def test_color_only_adds_escapes(source: str) -> None:
    import click

    for format in ("full", "concise"):
        colored = render(diagnostics(source), format, color=True)
        assert "\x1b[" in colored
        assert click.unstyle(colored) == render(diagnostics(source), format)


def test_json(source: str) -> None:
    first, _, last = json.loads(render(diagnostics(source), "json"))
    assert first["location"] == {"file": "ops.yaml", "line": 2, "column": 9, "end_column": 14}
    assert first["related"][0]["location"]["line"] == 1
    assert (first["code"], first["severity"], first["operator"]) == ("OPK011", "error", "my_op")
    assert last["location"] is None


def test_github(source: str) -> None:
    lines = render(diagnostics(source), "github").splitlines()
    assert lines[0] == (
        "::error file=ops.yaml,line=2,col=9,endColumn=14,title=OPK011::"
        "unknown <type> & 100%25%0Ahelp: a: b,%0Ac"
    )
    assert lines[1].startswith("::notice ")
    assert lines[2] == "::warning title=OPK001::no place"


def test_junit(source: str) -> None:
    found = [*diagnostics(source), Diagnostic("OPK002", Severity.ERROR, "control \x07 character", None)]
    suite = ElementTree.fromstring(render(found, "junit"))
    assert (suite.get("tests"), suite.get("failures")) == ("4", "3")
    cases = suite.findall("testcase")
    assert [case.find("failure") is not None for case in cases] == [True, False, True, True]
    failure = cases[0].find("failure")
    assert failure is not None
    assert failure.get("message") == "unknown <type> & 100%"
    assert str(cases[0].get("name")).endswith(" ops.yaml:2:9")
    schema = etree.XMLSchema(etree.parse(str(Path(__file__).with_name("schemas") / "jenkins-junit.xsd")))
    schema.assertValid(etree.fromstring(render(found, "junit").encode()))
    schema.assertValid(etree.fromstring(render([], "junit").encode()))


def test_junit_without_findings_has_a_case_that_passes() -> None:
    suite = ElementTree.fromstring(render([], "junit"))
    assert (suite.get("tests"), suite.get("failures")) == ("1", "0")


def test_sarif(source: str) -> None:
    document = json.loads(render(diagnostics(source), "sarif"))
    schema = Path(__file__).with_name("schemas") / "sarif-2.1.0-rtm.5.json"
    jsonschema.Draft4Validator(json.loads(schema.read_text())).validate(document)
    (run,) = document["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert rules == ["OPK001", "OPK011", "OPK103"]
    first = run["results"][0]
    assert rules[first["ruleIndex"]] == first["ruleId"] == "OPK011"
    assert first["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "ops.yaml"},
        "region": {"startLine": 2, "startColumn": 9, "endColumn": 14},
    }
    assert first["relatedLocations"][0]["message"] == {"text": "first"}
    assert run["results"][2]["locations"] == []


def test_sarif_of_an_absolute_path_is_a_uri(tmp_path: Path) -> None:
    found = [Diagnostic("OPK010", Severity.ERROR, "m", Mark(str(tmp_path / "a b.yaml"), 1, 1))]
    (run,) = json.loads(render(found, "sarif"))["runs"]
    uri = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri.startswith("file:///")
    assert "a%20b.yaml" in uri


@pytest.mark.parametrize("format", FORMATS)
def test_no_findings(format: str) -> None:
    text = render([], format)
    assert text == "" or text.endswith("\n")


def test_unknown_format() -> None:
    with pytest.raises(ValueError, match="unknown format"):
        render([], "xml")


@pytest.mark.parametrize("format_", ["full", "concise"])
def test_what_would_steer_a_terminal_is_made_visible(source: str, format_: str) -> None:
    line = b"ab\x1b[31m\x00\x7f\x9b\xe2\x80\xae Tensr \xff\n"
    Path(source).write_bytes(line)
    column = line.decode("utf-8", "replace").index("Tensr") + 1
    found = Diagnostic("OPK011", Severity.ERROR, "no \x1b[2J", Mark(source, 1, column, 5), "\x07 \ud800")
    text = render([found], format_)
    assert all(c.isprintable() or c == "\n" for c in text)
    assert "no \u241b[2J" in text
    if format_ == "full":
        excerpt, caret = text.splitlines()[3:5]
        assert "ab\u241b[31m\u2400\u2421" in excerpt
        assert excerpt[caret.index("^") :].startswith("Tensr")


def test_chinese_spaces_and_text_stay(source: str) -> None:
    assert "\u4e2d\u3000\u6587" in render(
        [Diagnostic("OPK001", Severity.ERROR, "\u4e2d\u3000\u6587", None)], "full"
    )
