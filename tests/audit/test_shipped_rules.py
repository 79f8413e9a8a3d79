"""Every rule that ships with opkit agrees with the installed wheel's host code."""

from __future__ import annotations

import pytest

from opkit.audit.run import judge_host
from opkit.prove.plan import read
from opkit.report.host import render
from opkit.shipped import rule_files


@pytest.mark.npu
def test_shipped_rules_agree_with_the_host() -> None:
    report = judge_host([read(str(path)) for path in rule_files("torch_npu")], socs=("910B", "950"))
    assert report.agrees, render(report)
