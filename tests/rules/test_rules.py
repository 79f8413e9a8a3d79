"""Every code has a page, a fixture that shows it, and an example in its page that is true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

import opkit
from opkit.check import check_path
from opkit.model.diagnostic import Severity
from opkit.report.diagnostics import render
from opkit.rules.pages import PAGES, page, severities, title

FIXTURES = Path(__file__).parent / "fixtures"
SECTIONS = ("What it does", "Why it matters", "Example", "Use instead")

# Codes of other parts of opkit that `opkit check FILE` gives, too; the rest belongs to other commands.
BORROWED = {"OPK202", "OPK203", "OPK204", "OPK206", "OPK301", "OPK302", "OPK303"}
OF_CHECK = {code for code in PAGES if code < "OPK200"} | BORROWED
# Codes about a path or a second file; their examples are not YAML.
ABOUT_FILES = {"OPK001", "OPK050", "OPK118"}


@pytest.mark.parametrize("fixture", sorted(p.stem for p in FIXTURES.glob("OPK*.yaml")))
def test_fixture(fixture: str, snapshot: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FIXTURES)
    found = check_path(f"{fixture}.yaml")
    assert fixture in {d.code for d in found}
    assert render(found, "full") == snapshot


def test_every_code_in_the_sources_has_a_page() -> None:
    sources = Path(opkit.__file__).parent.rglob("*.py")
    used = {
        code for path in sources for code in re.findall(r'"(OPK\d{3})"', path.read_text(encoding="utf-8"))
    }
    assert used == set(PAGES)


def test_every_code_has_a_fixture() -> None:
    fixtures = {p.stem for p in FIXTURES.glob("OPK*.yaml")}
    assert fixtures == OF_CHECK - {"OPK001"}


def test_healthy_operators_give_no_finding() -> None:
    found = check_path(FIXTURES / "healthy.yaml")
    assert [d for d in found if d.severity is not Severity.NOTE] == []


@pytest.mark.parametrize("code", PAGES)
def test_page(code: str) -> None:
    text = page(code)
    assert text.startswith(f"{code}: {title(code)}\n")
    assert title(code).endswith(".")
    assert re.findall(r"^(.+)\n-+$", text, re.MULTILINE) == list(SECTIONS)


def _block(code: str, section: str) -> str:
    """The indented lines of a section, as a whole YAML file."""
    part = re.split(r"^.+\n-+$", page(code), flags=re.MULTILINE)[SECTIONS.index(section) + 1]
    lines = [line[4:] for line in part.splitlines() if line.startswith("    ")]
    if lines[0].startswith(("custom", "symint")):
        return "\n".join(lines)
    if lines[0].startswith("func:"):
        lines = [f"- {lines[0]}", *(f"  {line}" for line in lines[1:])]
    elif not lines[0].startswith("- "):
        lines = ["- func: my_op(Tensor x) -> Tensor", *(f"  {line}" for line in lines)]
    return "\n".join(["custom:", *(f"  {line}" for line in lines)])


@pytest.mark.parametrize("code", sorted(OF_CHECK - ABOUT_FILES))
def test_example_of_the_page(code: str, tmp_path: Path) -> None:
    for section, shows in (("Example", True), ("Use instead", False)):
        path = tmp_path / "ops.yaml"
        path.write_text(_block(code, section) + "\n", encoding="utf-8")
        codes = {d.code for d in check_path(path)}
        assert (code in codes) == shows, (section, path.read_text(), codes)


def test_the_list_of_codes_tells_what_a_finding_can_weigh() -> None:
    for fixture in FIXTURES.glob("*.yaml"):
        for found in check_path(fixture):
            assert found.severity.value in severities(found.code), (found.code, found.severity)
