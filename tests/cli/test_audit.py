"""`opkit audit` as a command: what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from opkit.cli.audit import command


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--host", "--ledger", "known.json"], "--host keeps none"),
        (["--op", "npu_ptiou"], "are for --host"),
        (["--cann", "9.0.0"], "are for --host"),
        (["npu", "atb"], "one subject"),
        (["--soc", "910B", "--soc", "950"], "one --soc"),
        (["--update-ledger"], "--ledger FILE"),
        (["--host", "no_such_file.yaml"], "no_such_file.yaml"),
    ],
)
def test_what_is_refused(arguments: list[str], words: str) -> None:
    result = CliRunner().invoke(command, arguments)
    assert result.exit_code == 2
    assert words in result.output


def test_mistakes_in_a_rule_file_are_shown(tmp_path: Path) -> None:
    path = tmp_path / "ops.yaml"
    path.write_text("custom:\n  - func: f(Tensor x) -> Tensor\n    meta: {out: {size: y, dtype: x}}\n")
    result = CliRunner().invoke(command, ["--host", str(path)])
    assert result.exit_code == 1
    assert "OPK202" in result.output


def test_an_unknown_rule_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "ops.yaml"
    path.write_text("custom:\n  - func: f(Tensor x) -> Tensor\n    meta: {out: {size: x, dtype: x}}\n")
    result = CliRunner().invoke(command, ["--host", str(path), "--op", "g"])
    assert result.exit_code == 2
    assert "no rule file has an operator g" in result.output


@pytest.mark.npu
def test_an_unknown_soc_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "ops.yaml"
    path.write_text("custom:\n  - func: f(Tensor x) -> Tensor\n    meta: {out: {size: x, dtype: x}}\n")
    result = CliRunner().invoke(command, ["--host", str(path), "--soc", "H100"])
    assert result.exit_code == 2
    assert "no SoC 'H100'" in result.output
