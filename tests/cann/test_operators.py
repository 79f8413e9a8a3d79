from __future__ import annotations

import pytest
from checking import names_of, run_checks

FILE = "checks_operators.py"


@pytest.mark.npu
def test_operators_of_torch_s_database() -> None:
    pytest.importorskip("expecttest", reason="torch's operator database needs expecttest")
    (name,) = names_of(FILE)
    found = run_checks(FILE)[name]
    assert not found, found
