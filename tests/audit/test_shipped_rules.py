"""Every rule that ships with opkit agrees with the installed wheel's host code."""

from __future__ import annotations

import pytest

from opkit.testing import judge


@pytest.mark.npu
def test_shipped_rules_agree_with_the_host() -> None:
    report = judge("torch_npu", socs=("910B", "950"))
    assert report.agrees, report.explain()
