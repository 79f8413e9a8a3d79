"""Results that are no fresh tensor: an argument itself, an earlier result, None, the items of a list."""

from __future__ import annotations

import pytest
import torch
from declarations import fresh_namespace, op_file, operator

from opkit.read import read_text
from opkit.registration import register
from opkit.shape import resolve
from opkit.shape.evaluation import apply

ALIASES = """
custom:
  - func: keep(Tensor x, float p) -> Tensor
    op_api: all_version
    meta:
      out: {alias: x, when: p == 0, size: x, dtype: x}
  - func: pair(Tensor x, Tensor mask) -> (Tensor, Tensor)
    op_api: all_version
    meta:
      out: {size: x, dtype: x}
      mask: {alias: mask}
  - func: twice(Tensor x) -> (Tensor, Tensor, Tensor)
    op_api: all_version
    meta:
      first: {size: "[x.size(0)]", dtype: int8}
      second: {alias: first}
      third: {alias: first, when: x.dim() == 1, size: x, dtype: x}
  - func: maybe(Tensor x, bool[2] mask) -> (Tensor, Tensor)
    op_api: all_version
    meta:
      a: {size: "x.shape if mask[0] else None", dtype: x}
      b: {size: "None if not mask[1] else [3]", dtype: int8}
  - func: several(Tensor x, Tensor y) -> Tensor[]
    op_api: all_version
    meta:
      a: {size: x, dtype: x}
      b: {size: y, dtype: y}
      c: {size: "[x.size(0)]", dtype: x}
  - func: written(Tensor x, *, Tensor[] out) -> (Tensor, Tensor)
    op_api: all_version
    meta:
      a: {alias: "out[1]"}
      b: {alias: "out[0]", when: x.dim() == 1, size: x, dtype: x}
"""


@pytest.fixture(scope="module")
def functions() -> object:
    return register(op_file(ALIASES), namespace=fresh_namespace())


def test_a_result_is_the_argument_where_the_condition_holds(functions: object) -> None:
    x = torch.empty(2, 3, device="meta")
    assert functions.keep(x, 0.0) is x  # type: ignore[attr-defined]
    fresh = functions.keep(x, 0.5)  # type: ignore[attr-defined]
    assert fresh is not x
    assert fresh.shape == x.shape


def test_a_result_is_always_the_argument(functions: object) -> None:
    x, mask = torch.empty(2, device="meta"), torch.empty(5, device="meta")
    assert functions.pair(x, mask)[1] is mask  # type: ignore[attr-defined]


def test_a_result_is_an_earlier_one(functions: object) -> None:
    first, second, third = functions.twice(torch.empty(4, device="meta"))  # type: ignore[attr-defined]
    assert first is second
    assert first is third
    first, second, third = functions.twice(torch.empty(4, 2, device="meta"))  # type: ignore[attr-defined]
    assert first is second
    assert third.shape == (4, 2)
    assert first.shape == (4,)


def test_a_result_is_none(functions: object) -> None:
    x = torch.empty(2, device="meta")
    a, b = functions.maybe(x, [True, False])  # type: ignore[attr-defined]
    assert (a.shape, b) == ((2,), None)
    a, b = functions.maybe(x, [False, True])  # type: ignore[attr-defined]
    assert (a, b.shape) == (None, (3,))


def test_results_are_the_items_of_a_list(functions: object) -> None:
    found = functions.several(torch.empty(2, 3, device="meta"), torch.empty(5, device="meta"))  # type: ignore[attr-defined]
    assert isinstance(found, list)
    assert [tuple(tensor.shape) for tensor in found] == [(2, 3), (5,), (2,)]


def test_a_result_is_an_item_of_a_list(functions: object) -> None:
    first, second = torch.empty(3, device="meta"), torch.empty(5, device="meta")
    a, b = functions.written(torch.empty(2, device="meta"), out=[first, second])  # type: ignore[attr-defined]
    assert (a is second, b is first) == (True, True)
    a, b = functions.written(torch.empty(2, 4, device="meta"), out=[first, second])  # type: ignore[attr-defined]
    assert (a is second, tuple(b.shape)) == (True, (2, 4))


def test_evaluation_agrees() -> None:
    file = op_file(ALIASES)
    x = torch.empty(4, device="meta")
    keep, twice = (resolve(file.operators[i], file) for i in (0, 2))
    assert apply(keep, {"x": x, "p": 0.0})[0].argument == "x"
    assert apply(keep, {"x": x, "p": 1.0})[0].shape == (4,)
    written = resolve(file.operators[5], file)
    assert [result.argument for result in apply(written, {"x": x, "out": []})] == ["out[1]", "out[0]"]
    assert [result.shape for result in apply(twice, {"x": x})] == [(4,), (4,), (4,)]
    assert [result.shape for result in apply(twice, {"x": torch.empty(4, 2)})] == [(4,), (4,), (4, 2)]


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("{alias: y}", "cannot be `y`"),
        ("{alias: n}", "cannot be `n`"),
        ('{alias: "x[0]"}', "cannot be `x[0]`"),
        ('{alias: "z[0]"}', "cannot be `z[0]`"),
        ("{alias: x, size: x, dtype: x}", "has a size"),
        ("{when: n == 1, size: x, dtype: x}", "no `alias`"),
        ("{alias: x, when: n == 1, size: x}", "has no dtype"),
        ("{size: x}", "has no dtype"),
    ],
)
def test_mistakes_are_found(rule: str, words: str) -> None:
    text = (
        f"custom:\n  - func: f(Tensor x, int n) -> Tensor\n    op_api: v2.13\n    meta:\n      out: {rule}\n"
    )
    _, diagnostics = read_text(text, "ops.yaml")
    assert any(words in d.message and d.code == "OPK041" for d in diagnostics), diagnostics


def test_a_list_of_results_may_be_as_long_as_it_is_but_two_results_are_two() -> None:
    spec, file = operator("f(Tensor x) -> Tensor[]", "meta: {a: {size: x, dtype: x}, b: {size: x, dtype: x}}")
    assert resolve(spec, file).usable
    text = "custom:\n  - func: f(Tensor x) -> (Tensor, Tensor)\n    meta: {a: {size: x, dtype: x}}\n"
    assert "OPK041" in [d.code for d in read_text(text, "ops.yaml")[1]]


MIXED = """
custom:
  - func: mixed(Tensor x, Tensor lengths) -> Tensor
    op_api: all_version
    device_check: NoCheck
    meta: {out: {size: x, dtype: x}}
"""


def test_tensors_may_lie_on_different_devices_where_the_schema_does_not_check() -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    namespace = fresh_namespace()
    register(op_file(MIXED), namespace=namespace)
    operator = getattr(torch.ops, namespace).mixed
    with FakeTensorMode():
        x, lengths = torch.empty(2, 3, device="cuda"), torch.empty(4, device="cpu")
        assert operator(x, lengths).device.type == "cuda"
        assert operator(lengths, x).device.type == "cpu"


def test_results_that_are_no_tensor() -> None:
    namespace = fresh_namespace()
    meta = "meta: {out: {size: x, dtype: x}, count: {value: x.numel() * n}}"
    spec, file = operator(f"{namespace}::counted(Tensor x, int n=2) -> (Tensor, int)", meta)
    assert apply(resolve(spec, file), {"x": torch.empty(3, 5), "n": 2})[1].value == 30
    register(file)
    counted = getattr(torch.ops, namespace).counted(torch.empty(3, 5, device="meta"))
    assert counted[1] == 30


@pytest.mark.parametrize(
    ("returns", "rule", "words"),
    [
        ("int", "{size: x, dtype: x}", "it is no tensor but int"),
        ("Tensor", "{value: x.numel()}", "it is a tensor, which has no `value`"),
    ],
)
def test_a_value_is_for_what_is_no_tensor(returns: str, rule: str, words: str) -> None:
    spec, file = operator(f"f(Tensor x) -> {returns}", f"meta: {{out: {rule}}}")
    (problem,) = resolve(spec, file).diagnostics
    assert words in problem.message
