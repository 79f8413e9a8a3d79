"""`opkit gen` from the outside."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from declarations import SAMPLE

from opkit.cli.main import main


@pytest.fixture
def ops(tmp_path: Path) -> Path:
    path = tmp_path / "ops.yaml"
    path.write_text(SAMPLE, encoding="utf-8")
    return path


def gen(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["gen", *map(str, arguments)])


def test_generate_check_change_and_check_again(ops: Path) -> None:
    out = ops.parent / "generated"
    assert gen(ops, "-o", out, "--check").exit_code == 1
    assert not out.exists()
    assert gen(ops, "-o", out).exit_code == 0
    assert "is up to date" in gen(ops, "-o", out).output
    assert gen(ops, "-o", out, "--check").exit_code == 0
    ops.write_text(SAMPLE.replace("float attr1", "float attr1=1.0").replace("int attr2", "int attr2=2"))
    stale = gen(ops, "-o", out, "--check")
    assert stale.exit_code == 1
    assert "stale" in stale.output
    assert "attr2: int = 2" not in (out / "meta.py").read_text()


def test_a_missing_rule_writes_nothing_and_points_at_the_operator(ops: Path) -> None:
    ops.write_text(SAMPLE + "  - func: lost(Tensor x) -> Tensor\n    op_api: all_version\n")
    out = ops.parent / "generated"
    result = gen(ops, "-o", out)
    assert result.exit_code == 1
    assert "OPK201" in result.output
    assert "lost" in result.output
    assert not out.exists()


def test_bad_yaml_is_a_finding_and_a_missing_file_a_tool_error(ops: Path) -> None:
    assert gen(ops.parent / "none.yaml", "-o", ops.parent / "out").exit_code == 2
    ops.write_text("custom:\n  - func: f(Tensr x) -> Tensor\n")
    result = gen(ops, "-o", ops.parent / "out")
    assert result.exit_code == 1
    assert "Traceback" not in result.output


def test_a_directory_that_cannot_be_is_a_usage_error(ops: Path) -> None:
    assert gen(ops, "-o", ops.parent / "not-a-package").exit_code == 2
    blocked = ops.parent / "blocked"
    blocked.write_text("a file")
    assert gen(ops, "-o", blocked / "package").exit_code == 2


@pytest.mark.parametrize(
    "text", ["", "# nothing\n", "- func: f(Tensor x) -> Tensor\n", "custom: []\n", "custom:\n"]
)
def test_a_file_without_operators_is_a_finding_and_writes_nothing(ops: Path, text: str) -> None:
    ops.write_text(text)
    result = gen(ops, "-o", ops.parent / "out")
    assert result.exit_code == 1
    assert "OPK004" in result.output
    assert not (ops.parent / "out").exists()
    assert CliRunner().invoke(main, ["check", str(ops)]).exit_code == 1


def test_a_file_without_operators_for_this_torch_writes_nothing(ops: Path) -> None:
    ops.write_text(SAMPLE.replace("all_version", "[v2.1, v2.3]"))
    result = gen(ops, "-o", ops.parent / "out", "--torch-version", "2.7")
    assert result.exit_code == 1
    assert "declares no operator for torch 2.7" in result.output
    assert not (ops.parent / "out").exists()


def test_custom_op_style_and_namespace(ops: Path) -> None:
    out = ops.parent / "generated"
    assert (
        gen(ops, "-o", out, "--style", "custom-op", "--namespace", "mylib", "--no-converters").exit_code == 0
    )
    assert '"mylib::my_op"' in (out / "meta.py").read_text()
    assert (out / "kernels.py").exists()
    assert not (out / "converters.py").exists()


def test_what_depends_on_the_environment_is_asked_for(ops: Path) -> None:
    ops.write_text(
        "custom:\n  - func: f(Tensor self, Tensor max) -> Tensor\n    op_api: all_version\n    gen_opapi:\n"
        "      out: {size: self, dtype: 'is_gte_cann_version_820rc1() ? at::kFloat : at::kHalf'}\n"
        "      exec: aclnnF\n"
    )
    out = ops.parent / "generated"
    result = gen(ops, "-o", out)
    assert result.exit_code == 1
    assert "--cann-version" in result.output
    for version, dtype in (("8.1", "float16"), ("8.2", "float32")):
        assert gen(ops, "-o", out, "--cann-version", version).exit_code == 0
        assert f"dtype=torch.{dtype}" in (out / "meta.py").read_text()


def test_gen_imports_no_torch(ops: Path) -> None:
    script = (
        "import sys\nfrom opkit.cli.main import main\n"
        f"main(['gen', {str(ops)!r}, '-o', {str(ops.parent / 'generated')!r}], standalone_mode=False)\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize("name", ["class", "my-op"])
def test_a_directory_that_python_cannot_import(ops: Path, name: str) -> None:
    result = gen(ops, "-o", ops.parent / name)
    assert result.exit_code == 2
    assert f"{name!r} is not a name Python can import" in result.output
    assert not (ops.parent / name).exists()


def test_a_place_that_cannot_be_written_has_help(ops: Path) -> None:
    (ops.parent / "file").write_text("")
    result = gen(ops, "-o", ops.parent / "file" / "package")
    assert result.exit_code == 2
    assert "cannot write" in result.output
    assert "help: a file stands where a directory is meant" in result.output


LOST = "  - func: lost(Tensor x) -> Tensor\n    op_api: all_version\n"


def test_partial_writes_what_has_a_rule_and_lists_the_rest(ops: Path) -> None:
    out = ops.parent / "generated"
    assert gen(ops, "-o", out, "--partial").exit_code == 0
    whole = (out / "meta.py").read_text()
    ops.write_text(SAMPLE + LOST)
    refused = gen(ops, "-o", out)
    assert refused.exit_code == 1
    assert "--partial" in refused.output
    partial = gen(ops, "-o", out, "--partial")
    assert partial.exit_code == 1
    assert "left out: lost" in partial.output
    assert f"{ops}:{(SAMPLE + LOST).count(chr(10)) - 1}:" in partial.output
    assert (out / "meta.py").read_text() == whole
    assert gen(ops, "-o", out, "--partial", "--check").exit_code == 1


def test_an_operator_left_out_takes_those_that_inherit_its_rule_with_it(ops: Path) -> None:
    heir = LOST.replace("lost", "heir") + "    gen_opapi: {structured_inherit: lost}\n"
    ops.write_text(
        SAMPLE + LOST + "    gen_opapi: {out: {size: no_helper(x), dtype: x}, exec: aclnnLost}\n" + heir
    )
    assert "left out: lost, heir" in gen(ops, "-o", ops.parent / "generated", "--partial").output


def test_a_file_without_any_rule_is_refused_with_partial_too(ops: Path) -> None:
    ops.write_text("custom:\n" + LOST)
    out = ops.parent / "generated"
    assert gen(ops, "-o", out, "--partial").exit_code == 1
    assert not out.exists()


def test_operators_of_torch_need_no_rule_and_stay_torchs(ops: Path) -> None:
    official = """official:
  - func: abs(Tensor self) -> Tensor
    op_api: all_version
  - func: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
    op_api: all_version
    gen_opapi: {out: {size: self, dtype: self}, exec: aclnnAdd}
"""
    ops.write_text(official + SAMPLE)
    out = ops.parent / "generated"
    result = gen(ops, "-o", out)
    assert result.exit_code == 0, result.output
    assert "1 operator of torch's own without a rule" in result.output
    meta = (out / "meta.py").read_text()
    assert '@aten_meta_kernel("aten::add.Tensor(' in meta
    assert "::abs(" not in meta
    assert "aten" not in (out / "__init__.py").read_text() + (out / "converters.py").read_text()
