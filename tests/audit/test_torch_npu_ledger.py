"""What of torch_npu cannot enter a graph is recorded: this fails when that grows, or shrinks unrecorded.

`opkit audit torch_npu --ledger tests/audit/torch_npu.json --update-ledger` records what is.
"""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import pytest
from click.testing import CliRunner

from opkit.cli.audit import command

LEDGER = Path(__file__).parent / "torch_npu.json"


@pytest.mark.npu
def test_the_ledger_of_torch_npu_is_up_to_date() -> None:
    version = importlib.metadata.version("torch_npu")
    if not version.startswith("2.13.0"):
        pytest.skip(f"the ledger is that of torch_npu 2.13.0, installed is {version}")
    result = CliRunner().invoke(command, ["torch_npu", "--ledger", str(LEDGER), "--stand-in"])
    assert result.exit_code == 0, result.output[-3000:]
