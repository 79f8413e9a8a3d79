"""The tensors that are made of a case."""

from __future__ import annotations

import pytest
import torch
from declarations import operator

from opkit.errors import OpkitError
from opkit.prove.subject import without_own_lines
from opkit.prove.values import Contents, Inputs, inputs

FUNC = "f(Tensor x, Tensor? y=None, Tensor[]? z=None) -> Tensor"


def made(case: str) -> Inputs:
    spec, _ = operator(FUNC, "meta: {out: {size: x, dtype: x}}", f"cases: [{case}]")
    return inputs(spec.schema, spec.cases[0])


def test_a_named_dtype_is_its_first() -> None:
    found = made('{x: "T[2]", z: ["T[3]", "f32[1]"], T: [f16, i8]}')
    assert found.values["x"].dtype is torch.float16
    assert [tensor.dtype for tensor in found.values["z"]] == [torch.float16, torch.float32]


def test_numbers_have_both_signs_and_stay_away_from_zero() -> None:
    spec, _ = operator(
        FUNC, "meta: {out: {size: x, dtype: x}}", 'cases: [{x: "f16[99]", z: ["i8[99]", "i64[99]"]}]'
    )
    for signed in (True, False):
        found = inputs(spec.schema, spec.cases[0], contents=Contents(signed=signed))
        x, (small, index) = found.values["x"], found.values["z"]
        assert bool((x.abs() >= 0.25).all())
        assert bool((x > 0).any())
        assert bool((x < 0).any()) == bool((small < 0).any()) == signed
        assert bool((index >= 0).all())


def test_a_large_tensor_has_no_two_equal_rows_and_no_spare_memory() -> None:
    for dtype in ("f16", "i8", "float8_e4m3fn"):
        x = made(f'{{x: "{dtype}[64, 4096]"}}').values["x"]
        rows = x.float()
        assert all(not torch.equal(rows[0], row) for row in rows[1:])
        assert x.untyped_storage().nbytes() == x.numel() * x.element_size()


def test_every_dtype_of_a_name_is_made() -> None:
    spec, _ = operator(FUNC, "meta: {out: {size: x, dtype: x}}", 'cases: [{x: "T[2]", T: [f16, i8]}]')
    assert inputs(spec.schema, spec.cases[0], dtype=1).values["x"].dtype is torch.int8


def test_contents_are_as_written() -> None:
    found = made('{x: "i64[2, 2] = 1, 2, 3, 40"}')
    assert found.values["x"].tolist() == [[1, 2], [3, 40]]
    assert found.values["x"].dtype is torch.int64


def test_contents_must_fill_the_tensor() -> None:
    with pytest.raises(OpkitError, match="3 values"):
        made('{x: "i64[2, 2] = 1, 2, 3"}')


def test_what_stays_on_the_host_is_known() -> None:
    found = made('{x: "f16[2]", y: "cpu f16[2]"}')
    assert found.host == {"y"}
    assert found.map(lambda tensor: tensor + 1).host == {"y"}


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("2 <= args[0].size()[0]  # return operator(*args)  # opkit/prove/subject.py:81 in model", True),
        ("2 <= args[0].size()[0]  # (lib/opkit/prove/subject.py:81 in model)", True),
        ("2 <= args[0].size()[0]  # y = x.sum()  # models/mine.py:8 in forward", False),
    ],
)
def test_places_in_opkit_are_left_out(text: str, left: bool) -> None:
    assert without_own_lines(text) == ("2 <= args[0].size()[0]" if left else text)
