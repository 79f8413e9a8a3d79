"""The schema that torch_npu registers for an entry."""

from __future__ import annotations

import pytest

from opkit.model.registered import registered_schema
from opkit.read import read_text


@pytest.mark.parametrize(
    ("section", "rest", "written", "registered"),
    [
        (
            "custom",
            "op_api: all_version",
            "f(Tensor self, int n) -> Tensor",
            "f(Tensor input, int n) -> Tensor",
        ),
        (
            "custom",
            "op_api: all_version",
            (
                "e.out(Tensor self, bool s=False, *, Tensor(a!) pdf, Tensor(b!) m, Tensor(c!) x) "
                "-> (Tensor(a!), Tensor(b!), Tensor(c!))"
            ),
            "e.out(Tensor input, bool s=False, *, Tensor[] out) -> (Tensor, Tensor, Tensor)",
        ),
        (
            "custom",
            "acl_op: all_version",
            "f.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
            "f.out(Tensor input, *, Tensor(a!) out) -> Tensor(a!)",
        ),
        ("custom", "side_effect: true", "f(Tensor self) -> ()", "f(Tensor self) -> ()"),
        ("official", "op_api: all_version", "abs(Tensor self) -> Tensor", "abs(Tensor self) -> Tensor"),
    ],
)
def test_registered_schema(section: str, rest: str, written: str, registered: str) -> None:
    op_file, _ = read_text(f"{section}:\n  - func: {written}\n    {rest}\n", "ops.yaml")
    assert op_file is not None
    assert str(registered_schema(op_file.operators[0])) == registered
