"""Slips of every kind: one finding each, at its place, with help that says what to write; nothing else.

`slips.txt` holds them: a line `=== name | code line:column | words of the help`, then the YAML.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from opkit.check import check_path
from opkit.model.diagnostic import Severity

_TEXT = Path(__file__).with_name("slips.txt").read_text(encoding="utf-8")
SLIPS = {
    name.strip(): (expected.strip(), help.strip(), text)
    for head, _, text in (section.partition("\n") for section in _TEXT.split("=== ")[1:])
    for name, expected, help in [head.split("|")]
}


@pytest.mark.parametrize("name", SLIPS)
def test_a_slip_is_one_finding_at_its_place(tmp_path: Path, name: str) -> None:
    expected, help, text = SLIPS[name]
    path = tmp_path / "ops.yaml"
    path.write_text(text, encoding="utf-8")
    found = [d for d in check_path(path) if d.severity is not Severity.NOTE]
    places = [f"{d.code} {d.mark.line}:{d.mark.column}" for d in found if d.mark]
    assert places == ([] if expected == "none" else [expected])
    assert all(help in d.help for d in found)
