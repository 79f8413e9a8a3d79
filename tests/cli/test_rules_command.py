"""`opkit rules`, and the JSON Schema that editors use."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from opkit.cli.main import main
from opkit.rules.pages import PAGES, severities, title

ROOT = Path(__file__).parents[2]
SNAPSHOTS = ROOT / "tests" / "rules" / "__snapshots__" / "test_rules.ambr"


def run(*arguments: str) -> str:
    result = CliRunner().invoke(main, list(arguments))
    assert result.exit_code == 0, result.output
    return result.output


def test_every_code_is_listed() -> None:
    lines = run("rules").splitlines()
    assert [line.split()[0] for line in lines] == list(PAGES)
    assert f"OPK101  error, warning, note  {title('OPK101')}" in lines


def test_json() -> None:
    rules = json.loads(run("rules", "--format", "json"))
    assert [rule["code"] for rule in rules] == list(PAGES)
    assert rules[0] == {
        "code": "OPK001",
        "name": "unreadable_file",
        "severity": ["error"],
        "title": title("OPK001"),
    }


def test_the_severities_are_those_that_are_reported() -> None:
    shown = re.findall(
        r"^ *(OPK\d+) (error|warning|note): ", SNAPSHOTS.read_text(encoding="utf-8"), re.MULTILINE
    )
    assert len(shown) > 100
    assert not {(code, severity) for code, severity in shown if severity not in severities(code)}


def test_print_schema() -> None:
    assert json.loads(run("check", "--print-schema"))["title"] == "Operator declarations"


@pytest.mark.parametrize("path", sorted(ROOT.glob("samples/*/ops.yaml")), ids=lambda path: path.parent.name)
def test_samples_name_the_schema_and_follow_it(path: Path) -> None:
    import jsonschema

    text = path.read_text(encoding="utf-8")
    named = re.match(r"# yaml-language-server: \$schema=(\S+)\n", text)
    assert named
    schema = json.loads((path.parent / named[1]).read_text(encoding="utf-8"))
    jsonschema.validate(yaml.safe_load(text), schema)
