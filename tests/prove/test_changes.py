"""`--changed-since`: exactly the operators that are not what they were."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from opkit.cli.prove import command
from opkit.errors import OpkitError
from opkit.prove.changes import changed
from opkit.prove.plan import Plan, read, work

OPS = """\
custom:
  - func: plain(Tensor x) -> Tensor
    op_api: all_version
    gen_opapi: {out: {size: x, dtype: x}, exec: aclnnPlain}
  - func: heir(Tensor x) -> Tensor
    op_api: all_version
    gen_opapi: {structured_inherit: plain}
  - func: with_code(Tensor x) -> Tensor
    meta: {out: {size: x, dtype: x}}
    reference: code.py:with_code
  - func: with_prototype(Tensor x) -> Tensor
    meta: {out: {size: x, dtype: x}}
    ge: {ir: WithPrototype, prototype: prototype.json}
"""
CODE = "from helper import factor\n\ndef with_code(x):\n    return x * factor\n"
PROTOTYPE = """\
[{"op": "WithPrototype",
  "input_desc": [{"name": "x", "param_type": "required", "format": ["ND"], "type": ["fp16"]}],
  "output_desc": [{"name": "out", "param_type": "required", "format": ["ND"], "type": ["fp16"]}]}]
"""


def git(directory: Path, *arguments: str) -> None:
    subprocess.run(
        ["git", "-C", str(directory), "-c", "user.name=t", "-c", "user.email=t@example.com", *arguments],
        check=True,
        capture_output=True,
    )


@pytest.fixture
def ops(tmp_path: Path) -> Path:
    folder = tmp_path / "operators"
    folder.mkdir()
    (folder / "ops.yaml").write_text(OPS)
    (folder / "code.py").write_text(CODE)
    (folder / "helper.py").write_text("factor = 2\n")
    (folder / "prototype.json").write_text(PROTOTYPE)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "first")
    return folder


def names(folder: Path, revision: str = "HEAD", imports: tuple[str, ...] = ()) -> list[str]:
    found = changed([read(str(folder / "ops.yaml"))], revision, imports)
    assert {file for file, _ in found} <= {str(folder / "ops.yaml")}
    return sorted(name for _, name in found)


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_nothing_has_changed(ops: Path) -> None:
    assert names(ops) == []


@pytest.mark.parametrize(
    ("file", "old", "new", "expected"),
    [
        ("ops.yaml", "func: with_code(Tensor x)", "func: with_code(Tensor x, int n=1)", ["with_code"]),
        # An operator that inherits a rule changes with it.
        (
            "ops.yaml",
            "out: {size: x, dtype: x}, exec",
            "out: {size: x, dtype: at::kFloat}, exec",
            ["heir", "plain"],
        ),
        ("ops.yaml", "func: plain(", "func: renamed(", ["heir", "renamed"]),
        ("code.py", "x * factor", "factor * x", ["with_code"]),
        ("helper.py", "2", "3", ["with_code"]),
        ("prototype.json", "fp16", "fp32", ["with_prototype"]),
    ],
)
def test_what_has_changed(ops: Path, file: str, old: str, new: str, expected: list[str]) -> None:
    edit(ops / file, old, new)
    if new == "func: renamed(":
        edit(ops / "ops.yaml", "structured_inherit: plain", "structured_inherit: renamed")
    assert names(ops) == expected
    git(ops, "commit", "-q", "-a", "-m", "second")
    assert names(ops) == []
    assert names(ops, "HEAD~1") == expected


def test_another_place_in_the_file_is_no_change(ops: Path) -> None:
    edit(ops / "ops.yaml", "custom:\n", "# A comment.\n\ncustom:\n")
    assert names(ops) == []


def test_a_new_file_is_all_new(ops: Path) -> None:
    git(ops, "mv", "ops.yaml", "others.yaml")
    (ops / "ops.yaml").write_text((ops / "others.yaml").read_text())
    git(ops, "commit", "-q", "-a", "-m", "moved")
    assert names(ops) == ["heir", "plain", "with_code", "with_prototype"]


def test_an_imported_module_concerns_every_operator(ops: Path) -> None:
    (ops / "registers.py").write_text("import helper\n")
    git(ops, "add", ".")
    git(ops, "commit", "-q", "-m", "module")
    imports = (str(ops / "registers.py"),)
    assert names(ops, imports=imports) == []
    edit(ops / "helper.py", "2", "3")
    assert names(ops, imports=imports) == ["heir", "plain", "with_code", "with_prototype"]


def test_modules_of_the_repository_that_lie_elsewhere(ops: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = ops.parent / "library"
    library.mkdir()
    (library / "shared.py").write_text("def f(x):\n    return x\n")
    edit(ops / "ops.yaml", "code.py:with_code", "shared:f")
    git(ops, "add", "..")
    git(ops, "commit", "-q", "-m", "library")
    monkeypatch.syspath_prepend(library)
    assert names(ops) == []
    edit(library / "shared.py", "return x", "return -x")
    assert names(ops) == ["with_code"]


def test_an_unknown_revision(ops: Path) -> None:
    with pytest.raises(OpkitError, match="has no such revision"):
        names(ops, "no-such-branch")
    # No option of git's, either.
    with pytest.raises(OpkitError, match="has no such revision"):
        names(ops, "--all")


def test_outside_of_a_repository(tmp_path: Path) -> None:
    (tmp_path / "ops.yaml").write_text(OPS.partition("  - func: with_code")[0])
    with pytest.raises(OpkitError, match="is in no git repository"):
        names(tmp_path)


def test_without_git(ops: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(ops))
    with pytest.raises(OpkitError, match="git is not installed"):
        names(ops)


def test_the_plan_has_only_what_changed(ops: Path) -> None:
    edit(ops / "helper.py", "2", "3")
    todo = work(Plan(files=(str(ops / "ops.yaml"),), changed_since="HEAD"))
    assert {name for _, name, _ in todo.subjects} == {"with_code"}


def test_nothing_changed_is_no_failure(ops: Path) -> None:
    done = CliRunner().invoke(command, [str(ops / "ops.yaml"), "--changed-since", "HEAD"])
    assert done.exit_code == 0, done.output
    assert "nothing to prove: no operator has changed since HEAD" in done.output


def test_a_file_in_the_root_of_the_repository(tmp_path: Path) -> None:
    (tmp_path / "ops.yaml").write_text(OPS[: OPS.index("  - func: with_code")])
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "first")
    assert names(tmp_path) == []
    edit(tmp_path / "ops.yaml", "heir(Tensor x)", "heir(Tensor x, int n)")
    assert names(tmp_path) == ["heir"]
