"""Rule files that ship with opkit, and the operators that have none."""

from __future__ import annotations

from pathlib import Path

import pytest

from opkit.errors import OpkitError
from opkit.shipped import read_exceptions, rule_files, shipped_exceptions


def test_exceptions_are_no_rule_file() -> None:
    assert "exceptions.yaml" not in {path.name for path in rule_files("torch_npu")}


def test_every_operator_has_a_rule_or_a_reason() -> None:
    from opkit.prove.plan import read

    names = [spec.name for path in rule_files("torch_npu") for spec in read(str(path)).operators]
    assert len(names) == len(set(names))
    assert not set(names) & set(shipped_exceptions("torch_npu"))


def test_exceptions_are_read(tmp_path: Path) -> None:
    path = tmp_path / "exceptions.yaml"
    assert read_exceptions(path) == {}
    path.write_text("exceptions:\n  - {operator: npu_x, reason: it always raises}\n")
    assert read_exceptions(path) == {"npu_x": "it always raises"}


@pytest.mark.parametrize(
    "text",
    [
        "exceptions: {npu_x: why}\n",
        "exceptions:\n  - {operator: npu_x}\n",
        "exceptions:\n  - {operator: npu_x, reason: ''}\n",
        "exceptions:\n  - {operator: a, reason: b}\n  - {operator: a, reason: c}\n",
        "exceptions: [\n",
    ],
)
def test_a_file_of_another_form_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "exceptions.yaml"
    path.write_text(text)
    with pytest.raises(OpkitError):
        read_exceptions(path)
