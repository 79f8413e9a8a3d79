"""Where the reports of `opkit prove` go, told from runs that end before a proof starts."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from opkit.cli.prove import command


@pytest.fixture
def bad(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.yaml").write_text("custom:\n  - func: f(Tenser x) -> Tensor\n")
    return tmp_path


def prove(*arguments: str) -> Result:
    return CliRunner().invoke(command, ["bad.yaml", *arguments])


def test_mistakes_in_the_yaml_are_in_every_report_that_can_hold_them(bad: Path) -> None:
    kinds = ("json", "sarif", "junit", "concise", "html")
    done = prove("--format", "github", *(part for kind in kinds for part in ("--report", f"{kind}:r.{kind}")))
    assert done.exit_code == 1
    assert done.stdout.startswith("::error file=bad.yaml,line=2,")
    assert json.loads((bad / "r.json").read_text())["error"]["findings"][0]["location"]["line"] == 2
    assert json.loads((bad / "r.sarif").read_text())["runs"][0]["results"][0]["ruleId"] == "OPK011"
    assert 'failures="1"' in (bad / "r.junit").read_text()
    assert (bad / "r.concise").read_text().startswith("bad.yaml:2:")
    # Nothing was proved, so there is no page about a proof.
    assert not (bad / "r.html").exists()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--report", "xml:a"), "'xml:a' is not FORMAT:FILE"),
        (("--report", "html"), "'html' is not FORMAT:FILE"),
        (("--report", "html:a", "--report", f"json:.{os.sep}a"), "two reports would be written to"),
        (("--report", "html:no/where/a.html"), "no such directory"),
        (("--self-test", "--report", "html:a.html"), "--self-test has the formats"),
    ],
)
def test_what_cannot_be_written_is_found_first(bad: Path, arguments: tuple[str, ...], text: str) -> None:
    done = prove(*arguments)
    assert done.exit_code == 2
    assert text in done.stderr
    assert [path.name for path in bad.iterdir()] == ["bad.yaml"]
