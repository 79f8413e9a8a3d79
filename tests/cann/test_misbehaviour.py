from __future__ import annotations

import pytest
from checking import names_of, run_checks

FILE = "checks_misbehaviour.py"


@pytest.fixture(scope="module")
def checked() -> dict[str, str]:
    return run_checks(FILE)


@pytest.mark.npu
@pytest.mark.parametrize("name", names_of(FILE))
def test_check(checked: dict[str, str], name: str) -> None:
    assert not checked[name], checked[name]
