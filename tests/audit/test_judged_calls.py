"""The calls that are made of a case."""

from __future__ import annotations

from declarations import operator

from opkit.audit.variations import Variation, empties, variations


def made(func: str, case: str) -> dict[str, Variation]:
    spec, _ = operator(func, "meta: {out: {size: x, dtype: x}}", f"cases: [{case}]")
    return {variation.name: variation for variation in variations(spec)}


def test_every_size_is_called() -> None:
    found = made("f(Tensor x) -> Tensor", '{x: "f16[B, 4]", B: [2, 3, 0]}')
    assert [(v.name, v.size) for v in found.values() if not v.strided] == [
        ("case1", 0), ("case1, B=3", 1), ("case1, B=0", 2),
    ]  # fmt: skip


def test_each_dim_without_a_size_of_0_is_emptied_once() -> None:
    case = '{x: "f16[B, N]", y: "f16[S]", B: [2, 3], N: [4, 0], S: 5}'
    refused = '{name: no, x: "f16[B]", B: 3, raises: true}'
    func, meta = "f(Tensor x, Tensor? y=None) -> Tensor", "meta: {out: {size: x, dtype: x}}"
    spec, _ = operator(func, meta, f"cases: [{case}, {refused}]")
    assert [(v.name, dict(v.case.dims)) for v in empties(spec)] == [
        ("case1, B=0", {"B": (0,), "N": (4,), "S": (5,)}),
        ("case1, S=0", {"B": (2,), "N": (4,), "S": (0,)}),
    ]


def test_every_combination_of_dtypes_is_called() -> None:
    found = made("f(Tensor x, Tensor y) -> Tensor", '{x: "T[4]", y: "U[4]", T: [f16, f32], U: [i8, i32]}')
    assert set(found) == {
        "case1",
        "case1, T=float16, U=int32",
        "case1, T=float32, U=int8",
        "case1, T=float32, U=int32",
    }
    assert found["case1, T=float32, U=int8"].case.dtypes == (("T", ("float32",)), ("U", ("int8",)))


def test_of_many_combinations_each_dtype_is_called_once() -> None:
    dtypes = "[f16, f32, bf16, i8, i32]"
    found = made("f(Tensor x, Tensor y) -> Tensor", f'{{x: "T[4]", y: "U[4]", T: {dtypes}, U: {dtypes}}}')
    assert len(found) == 1 + 4 + 4


def test_optionals_are_left_out_and_flags_turned() -> None:
    found = made(
        "f(Tensor x, Tensor? y, bool[2] mask, bool flag=False, int? n=None) -> Tensor",
        '{x: "f16[4]", y: "f16[4]", mask: [true, false]}',
    )
    assert set(found) == {
        "case1",
        "case1, y=None",
        "case1, mask=[False, False]",
        "case1, mask=[True, True]",
        "case1, flag=True",
    }
    assert dict(found["case1, y=None"].case.inputs)["y"] is None


def test_tensors_with_given_contents_stay_as_they_lie() -> None:
    assert set(made("f(Tensor x) -> Tensor", '{x: "i64[2, 1] = 1, 2"}')) == {"case1"}
    assert "case1, not contiguous" in made("f(Tensor x) -> Tensor", '{x: "i64[2, 1]"}')


def test_values_that_a_requirement_documents_are_called() -> None:
    spec, _ = operator(
        "f(Tensor x, str mode='a', int n=1) -> Tensor",
        "meta: {require: [[\"mode in ['a', 'b', 'c'] and n in [1, 2]\", bad]], out: {size: x, dtype: x}}",
        'cases: [{x: "f16[4]"}]',
    )
    assert {variation.name for variation in variations(spec)} == {
        "case1",
        "case1, mode='b'",
        "case1, mode='c'",
        "case1, n=2",
    }
