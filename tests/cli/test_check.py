from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from opkit.cli.main import main

HEALTHY = """\
custom:
  - func: my_op(Tensor x, Tensor? y, Tensor[] z, float attr1, int attr2) -> Tensor
    op_api: all_version
    gen_opapi:
      out: {size: x, dtype: x}
      exec: aclnnMyOp
"""
BROKEN = HEALTHY.replace("Tensor? y", "Tensr? y")
NOTED = "custom:\n  - func: my_op(Tensor x) -> Tensor\n"


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in (("healthy", HEALTHY), ("broken", BROKEN), ("noted", NOTED)):
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    return tmp_path


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(main, arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


@pytest.mark.parametrize(
    ("files", "code"),
    [
        (["healthy.yaml"], 0),
        (["noted.yaml"], 0),
        (["broken.yaml"], 1),
        (["healthy.yaml", "broken.yaml"], 1),
        (["missing.yaml"], 2),
        (["broken.yaml", "missing.yaml"], 2),
        (["."], 2),
        ([], 2),
    ],
)
def test_exit_code(files: list[str], code: int) -> None:
    assert run("check", *files).exit_code == code


def test_caret_and_summary() -> None:
    result = run("check", "broken.yaml", "missing.yaml")
    assert " --> broken.yaml:2:27\n" in result.output
    assert "\n  |                           ^^^^^\n" in result.output
    assert "cannot read missing.yaml" in result.output
    assert "2 errors in 2 files" in result.output


def test_machine_formats_print_nothing_else() -> None:
    result = run("check", "broken.yaml", "--format", "json")
    assert [d["code"] for d in json.loads(result.output)] == ["OPK011"]


def test_output_file(directory: Path) -> None:
    (directory / "out").mkdir()
    result = run("check", "broken.yaml", "--format", "sarif", "--output-file", "out/report.sarif")
    assert result.exit_code == 1
    assert result.output == ""
    assert json.loads((directory / "out/report.sarif").read_text())["version"] == "2.1.0"


def test_output_file_that_cannot_be_written(directory: Path) -> None:
    (directory / "file").write_text("")
    result = run("check", "healthy.yaml", "--output-file", "file/report")
    assert result.exit_code == 2
    assert "cannot write" in result.output


def test_output_file_makes_no_directories(directory: Path) -> None:
    for command in (["check", "healthy.yaml"], ["prove", "healthy.yaml"], ["audit", "torch_npu"]):
        result = run(*command, "--output-file", "nowhere/report")
        assert result.exit_code == 2
        assert "no such directory" in result.output
        assert not (directory / "nowhere").exists()


def test_a_command_that_is_none_gets_the_nearest() -> None:
    result = run("chekc", "healthy.yaml")
    assert result.exit_code == 2
    assert "No such command 'chekc'. Did you mean 'check'?" in result.output
    assert "mean" not in run("xyzzy").output


def test_torch_version(directory: Path) -> None:
    text = (
        "custom:\n  - func: f(Tensor x, Dimname d) -> ()\n    side_effect: true\n    op_api: [v2.1, v2.12]\n"
    )
    (directory / "old.yaml").write_text(text)
    assert "OPK301" in run("check", "old.yaml", "--torch-version", "2.12").output
    assert run("check", "old.yaml", "--torch-version", "2.13").exit_code == 0
    assert run("check", "old.yaml", "--torch-version", "new").exit_code == 2


def test_ignore_in_pyproject(directory: Path) -> None:
    pytest.importorskip("tomllib" if sys.version_info >= (3, 11) else "tomli")
    config = directory / "pyproject.toml"
    config.write_text('[tool.opkit]\nignore = ["OPK011"]\n')
    (directory / "deep").mkdir()
    (directory / "deep" / "broken.yaml").write_text(BROKEN)
    assert run("check", "deep/broken.yaml").exit_code == 0
    config.write_text('[tool.opkit]\nignore = ["OPK012"]\n')
    assert run("check", "deep/broken.yaml").exit_code == 1


@pytest.mark.parametrize("text", ['ignore = "OPK011"', 'ignore = ["OPK999"]', "ignore = [", "ignore = [1]"])
def test_bad_configuration(directory: Path, text: str) -> None:
    pytest.importorskip("tomllib" if sys.version_info >= (3, 11) else "tomli")
    (directory / "pyproject.toml").write_text(f"[tool.opkit]\n{text}\n")
    result = run("check", "healthy.yaml")
    assert result.exit_code == 2
    assert "pyproject.toml" in result.output


def test_ignore_in_a_comment(directory: Path) -> None:
    text = (
        "custom:\n"
        "  - func: f(Tensor x) -> ()  # opkit: ignore[OPK102]\n"
        "  # opkit: ignore[OPK102, OPK104]\n"
        "  - func: g(int x) -> ()\n"
        "  - func: h(Tensor x) -> ()  # opkit: ignore[OPK101]\n"
    )
    (directory / "ops.yaml").write_text(text)
    result = run("check", "ops.yaml", "--format", "concise")
    assert [line for line in result.output.splitlines() if "OPK102" in line] == [
        "ops.yaml:5:11: error OPK102 h returns nothing and writes no argument: a graph drops the call"
    ]
    assert "OPK104" not in result.output


def test_findings_are_in_the_order_of_the_text(directory: Path) -> None:
    text = "custom:\n" + "".join(f"  - func: f{i}(Tensor(a) x, int64_t n) -> Tensor(a)\n" for i in range(3))
    (directory / "ops.yaml").write_text(text)
    found = json.loads(run("check", "ops.yaml", "--format", "json").output)
    assert [d["location"]["line"] for d in found] == [2, 3, 4]


def test_never_imports_torch(directory: Path) -> None:
    script = (
        "import sys\nfrom opkit.cli.main import main\n"
        "try:\n    main(['check', 'broken.yaml'])\nexcept SystemExit as end:\n    assert end.code == 1\n"
        "print([m for m in ('torch', 'jsonschema', 'rich', 'numpy') if m in sys.modules])\n"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("code", ["OPK102", "opk102", "102"])
def test_explain(code: str) -> None:
    result = run("explain", code)
    assert result.exit_code == 0
    assert result.output.startswith("OPK102: ")
    assert "side_effect: true" in result.output


def test_explain_lists_all_codes() -> None:
    from opkit.prove.mutants.catalogue import KINDS
    from opkit.rules.pages import PAGES

    lines = run("explain").output.splitlines()
    assert [line.split()[0] for line in lines] == [*PAGES, *(kind.name for kind in KINDS.values())]


def test_explain_unknown_code() -> None:
    result = run("explain", "OPK10")
    assert result.exit_code == 2
    assert "OPK10" in result.output


@pytest.mark.parametrize(("code", "slip"), [("OPK999", ""), ("OKP105", "OPK105"), ("OP105", "OPK105")])
def test_explain_proposes_only_the_same_number(code: str, slip: str) -> None:
    result = run("explain", code)
    assert result.exit_code == 2
    assert ("did you mean" in result.output) == bool(slip)
    assert slip in result.output


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("words", ["check ops.yaml", "check --print-schema", "rules", "--help"])
def test_a_full_disk_behind_the_output_is_said(tmp_path: Path, words: str) -> None:
    (tmp_path / "ops.yaml").write_text("custom: hello\n")
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "opkit", *words.split()],
            cwd=tmp_path,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (2, "error: cannot write the output: No space left on device\n")


def test_a_named_pipe_is_read_once(tmp_path: Path) -> None:
    pipe = tmp_path / "ops.yaml"
    os.mkfifo(pipe)
    checking = subprocess.Popen(
        [sys.executable, "-m", "opkit", "check", pipe],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    pipe.write_text("custom: hello\n")
    out, _ = checking.communicate(timeout=60)
    assert out.startswith("OPK004 error: `custom` is a list of operators")
