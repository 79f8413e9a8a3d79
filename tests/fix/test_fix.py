"""`opkit check --fix` mends schemas and leaves every other byte of the file alone."""

from __future__ import annotations

import difflib
import os
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from opkit.cli.main import main
from opkit.errors import OpkitError
from opkit.fix import file as fix_file
from opkit.fix import fix_text
from opkit.fix.edits import same_meaning
from opkit.model.diagnostic import Mark
from opkit.read import parse_schema, read_text

BEFORE = """\ufeff# a comment\r
custom:\r
  - func: "f(Tensor! x,Tensor y, int ? n = 2.)->None"   # kept\r
    op_api:   [v2.1,newest]\r
  - func: >-\r
      g(Tensor(a!) x,\r
      Tensor! y, *, str s="a,b" , int[2] p=[1, 1],\r
      SymInt? m=-1e3)  ->  ()\r
  - {func: 'h(Tensor x, str s="a''b",bool b=1) -> Tensor!'}"""
AFTER = """\ufeff# a comment\r
custom:\r
  - func: "f(Tensor(a!) x, Tensor y, int? n=2) -> ()"   # kept\r
    op_api:   [v2.1,newest]\r
  - func: >-\r
      g(Tensor(a!) x,\r
      Tensor(b!) y, *, str s="a,b", int[2] p=[1,1],\r
      SymInt? m=-1000) -> ()\r
  - {func: 'h(Tensor x, str s="a''b", bool b=1) -> Tensor(a!)'}"""


def everything(code: str, line: int) -> bool:
    return True


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(main, list(arguments))
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def ops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "ops.yaml"
    path.write_bytes(BEFORE.encode())
    return path


def test_fix(ops: Path) -> None:
    os.chmod(ops, 0o640)
    _, _, told = run("check", "--fix", "ops.yaml")
    assert ops.read_bytes() == AFTER.encode()
    assert ops.stat().st_mode & 0o777 == 0o640
    assert "ops.yaml:3:20: fixed OPK016 f: `!` is now (a!)\n" in told
    assert "ops.yaml:8:17: fixed OPK112 g: the default of `m` is now -1000\n" in told
    assert "9 fixed\n" in told
    _, _, told = run("check", "--fix", "ops.yaml")
    assert told.startswith("nothing to fix\n")
    assert ops.read_bytes() == AFTER.encode()


def test_what_is_left_is_reported(ops: Path) -> None:
    code, shown, _ = run("check", "--fix", "ops.yaml", "--format", "concise")
    assert code == 1
    assert "ops.yaml:9:39: warning OPK112" in shown
    assert "OPK016" not in shown
    assert "OPK018" not in shown


def test_diff_changes_nothing(ops: Path) -> None:
    code, shown, _ = run("check", "--diff", "ops.yaml")
    assert code == 1
    assert '-  - func: "f(Tensor! x,Tensor y, int ? n = 2.)->None"   # kept' in shown
    assert '+  - func: "f(Tensor(a!) x, Tensor y, int? n=2) -> ()"   # kept' in shown
    assert shown.endswith("\\ No newline at end of file\n")
    assert ops.read_bytes() == BEFORE.encode()
    ops.write_bytes(AFTER.encode())
    assert run("check", "--diff", "ops.yaml")[:2] == (0, "")


def test_codes_that_are_ignored_are_left_alone(ops: Path) -> None:
    ops.with_name("pyproject.toml").write_text('[tool.opkit]\nignore = ["OPK018", "OPK112"]\n')
    ops.write_text(
        "custom:\n  - func: f(Tensor! x,int n=1.)->()  # opkit: ignore[OPK016]\n"
        "  - func: g(Tensor! x) -> ()\n"
    )
    run("check", "--fix", "ops.yaml")
    assert ops.read_text().endswith(
        "f(Tensor! x,int n=1.)->()  # opkit: ignore[OPK016]\n  - func: g(Tensor(a!) x) -> ()\n"
    )


@pytest.mark.parametrize(
    "text",
    [
        "custom:\n  - func: f(Tensor x,Tensor y -> Tensor\n",  # does not parse
        "custom:\n  - func: f(Tensor x,Tensor y) -> Tensor\n    op_api: [v2.1\n",  # no YAML
        "custom:\n  - func: f(Tensor x, int n=1.5, float p=1., bool b=True) -> Tensor\n",  # nothing to do
        'custom:\n  - func: "f(Tensor x, str s=\\"a\\",\\x20 int n=1) -> Tensor"\n',  # an escape between
        "custom:\n  - func: >-\n      f(Tensor x, int[] p=[1,\n      2]) -> Tensor\n",  # would join lines
        "other:\n  - func: f(Tensor! x) -> ()\n",  # no section
    ],
)
def test_left_alone(text: str) -> None:
    assert fix_text(text, "ops.yaml", everything).text == text


def test_an_anchor_is_mended_once() -> None:
    first = "  - &base\n    func: f(Tensor! x) -> ()\n    op_api: v2.1\n"
    text = f"custom:\n{first}  - <<: *base\n    op_api: v2.3\n"
    fixed = fix_text(text, "ops.yaml", everything)
    assert fixed.text == text.replace("Tensor!", "Tensor(a!)")
    assert len(fixed.fixes) == 1


def test_a_fix_that_says_something_else_is_never_written(monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(text: str, changes: list[tuple[int, int, str]]) -> str:
        return text.replace("func: f(Tensor! x", "func: f(Tensor(b!) y")

    monkeypatch.setattr(fix_file, "_rewritten", careless)
    with pytest.raises(OpkitError, match="would say something else"):
        fix_text("custom:\n  - func: f(Tensor! x) -> ()\n", "ops.yaml", everything)


SPACES = st.sampled_from(["", " ", "  ", "\t"])
NAMES = st.sampled_from(["x", "y", "weight", "n"])


@st.composite
def schemas(draw: st.DrawFn) -> str:
    """A good schema with spaces, `!` and int defaults as people write them."""

    def space(need: bool = False) -> str:
        found = draw(SPACES)
        return found or " " if need else found

    arguments = []
    for index in range(draw(st.integers(1, 5))):
        name = f"{draw(NAMES)}{index}"
        kind, default = draw(
            st.sampled_from(
                [
                    ("Tensor", ""),
                    ("Tensor!", ""),
                    ("Tensor(b!)", ""),
                    ("Tensor?", "None"),
                    ("int", "2.0"),
                    ("int", "1.5"),
                    ("SymInt", "-1e2"),
                    ("float", "1."),
                    ("int[2]", "[1, 2]"),
                    ("str", '"a,  b!"'),
                    ("str", "'->'"),
                ]
            )
        )
        written = f"{kind}{space(True)}{name}"
        arguments.append(f"{written}{space()}={space()}{default}" if default else written)
    # Those with a default last, as the language wants it.
    arguments.sort(key=lambda a: "=" in a)
    inside = "".join(f"{space()},{space()}{a}" for a in arguments).lstrip(" \t,")
    result = draw(st.sampled_from(["Tensor", "()", "None", "(Tensor, Tensor)", "Tensor! "]))
    return f"f{space()}({space()}{inside}{space()}){space()}->{space()}{result}".rstrip()


@st.composite
def files(draw: st.DrawFn) -> str:
    end = draw(st.sampled_from(["\n", "\r\n"]))
    lines = ["# 注释: f(Tensor! x)->None", "custom:   # section"]
    for index in range(draw(st.integers(1, 3))):
        schema = draw(schemas()).replace("f", f"f{index}", 1)
        lines.append("")
        style = draw(st.sampled_from(["plain", "single", "double", "folded", "literal"]))
        if style == "plain":
            lines.append(f"  - func:  {schema}  # {schema}")
        elif style == "single":
            lines.append("  - func: '" + schema.replace("'", "''") + "'")
        elif style == "double":
            lines.append(
                '  - {"func": "'
                + schema.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t")
                + '" }'
            )
        else:
            broken = schema.replace(", ", ",\n      ") if draw(st.booleans()) else schema
            lines += [f"  - func: {'>-' if style == 'folded' else '|-'}", *f"      {broken}".split("\n")]
        if draw(st.booleans()):
            lines += [] if style == "double" else ["    op_api:  [ v2.1,newest ]"]
    return draw(st.sampled_from(["", "\ufeff"])) + end.join(lines) + draw(st.sampled_from(["", end]))


@settings(max_examples=60, deadline=None)
@given(files())
def test_only_schemas_change_and_keep_their_meaning(text: str) -> None:
    fixed = fix_text(text, "ops.yaml", everything)
    before, known = read_text(text, "ops.yaml")
    after, found = read_text(fixed.text, "ops.yaml")
    if before is None:
        assert fixed.text == text
        return
    assert after is not None
    assert len(before.operators) == len(after.operators)
    for old, new in zip(before.operators, after.operators):
        assert same_meaning(old.schema, new.schema)
        again, problems = parse_schema(str(new.schema), Mark("", 1, 1))
        assert again is not None
        assert not problems
    assert {d.code for d in found} <= {d.code for d in known}
    assert fix_text(fixed.text, "ops.yaml", everything).text == fixed.text
    # What changed is spaces, alias letters, results and digits, on lines that are no comment.
    for line in difflib.ndiff(text.splitlines(keepends=True), fixed.text.splitlines(keepends=True)):
        if line[0] in "+-":
            assert not line[2:].startswith("#")
            assert "op_api" not in line
    assert text.count("\r\n") == fixed.text.count("\r\n")
    assert text.split("  # ")[1:2] == fixed.text.split("  # ")[1:2] or "->" in text


@settings(max_examples=60, deadline=None)
@given(schemas())
def test_a_plain_schema_is_mended_completely(schema: str) -> None:
    fixed = fix_text(f"custom:\n  - func: {schema}\n", "ops.yaml", everything).text
    op_file, found = read_text(fixed, "ops.yaml")
    if op_file is not None and op_file.operators:
        assert not {d.code for d in found} & {"OPK015", "OPK016", "OPK018"}, fixed
        written = fixed.partition("func: ")[2].rstrip("\n")
        assert written.replace(" ", "") == str(op_file.operators[0].schema).replace(" ", "")
