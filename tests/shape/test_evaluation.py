"""Rules applied to tensors: the results of torch's own operators, and symbolic sizes that stay symbolic."""

from __future__ import annotations

import pytest
import torch
from declarations import rule

from opkit.shape.evaluation import RequirementFailed, apply


def shape_of(func: str, size: str, *, dtype: str = "x", **arguments: object) -> tuple[int, ...]:
    resolved = rule(func, f"meta: {{out: {{size: '{size}', dtype: {dtype}}}}}")
    (result,) = apply(resolved, arguments)
    assert result.shape is not None
    return result.shape


X = torch.empty(2, 3, 8)


@pytest.mark.parametrize(
    ("size", "like"),
    [
        ("broadcast(x, y)", lambda x, y: x + y),
        ("matmul_shape(x, w)", lambda x, y: x @ torch.empty(8, 5)),
        ("reduce(x, [0, -1], True)", lambda x, y: x.sum([0, -1], keepdim=True)),
        ("reduce(x, [], False)", lambda x, y: x.sum([])),
        ("drop(x, 1)", lambda x, y: x.sum(1)),
        ("insert(x, -1, 1)", lambda x, y: x.unsqueeze(-1)),
        ("permute(x, [2, 0, 1])", lambda x, y: x.permute(2, 0, 1)),
        ("repeat(x, [2, 1, 1, 3])", lambda x, y: x.repeat(2, 1, 1, 3)),
        ("pad(x, [1, 2, 3, 4])", lambda x, y: torch.nn.functional.pad(x, (1, 2, 3, 4))),
        ("[x.size(0), 4, conv_out(x.size(2), 3, 2, 1)]",
         lambda x, y: torch.nn.functional.conv1d(x, torch.empty(4, 3, 3), stride=2, padding=1)),
        ("set(x.shape, -1, x.size(-1) // 2)", lambda x, y: x[..., ::2]),
        ("ones(x.dim())", lambda x, y: torch.empty(1, 1, 1)),
    ],
)  # fmt: skip
def test_shapes_are_those_of_torch(size: str, like) -> None:  # type: ignore[no-untyped-def]
    y, w = torch.empty(3, 1), torch.empty(8, 5)
    found = shape_of("f(Tensor x, Tensor y, Tensor w) -> Tensor", size, x=X, y=y, w=w)
    assert found == tuple(like(X, y).shape)


def test_matmul_of_vectors() -> None:
    for left, right in (((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((5, 1, 2, 3), (4, 3, 6))):
        a, b = torch.empty(left), torch.empty(right)
        assert shape_of("f(Tensor x, Tensor y) -> Tensor", "matmul_shape(x, y)", x=a, y=b) == (a @ b).shape


@pytest.mark.parametrize(
    "left", [torch.empty(2, dtype=torch.int32), torch.tensor(1.0, dtype=torch.float64), 2, 2.5]
)
@pytest.mark.parametrize("middle", [torch.empty(2, dtype=torch.float16), torch.tensor(1), True])
@pytest.mark.parametrize("right", [torch.empty(3, 1, dtype=torch.uint8), 1.5])
def test_result_type_of_many_is_that_of_torch(left: object, middle: object, right: object) -> None:
    from opkit.shape.evaluation import _namespace

    values = [left, middle, right]
    # torch's own answer for any number of operands: the dtype of their sum, added in one kernel.
    tensors = [v if isinstance(v, torch.Tensor) else torch.tensor(v) for v in values]
    wrapped = [not isinstance(v, torch.Tensor) for v in values]
    expected = _torch_result_type(tensors, wrapped)
    assert _namespace()["result_type"](*values) == expected


def _torch_result_type(tensors: list[torch.Tensor], wrapped: list[bool]) -> torch.dtype:
    from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND, elementwise_dtypes

    values = [t.item() if w else t for t, w in zip(tensors, wrapped)]
    kind = ELEMENTWISE_TYPE_PROMOTION_KIND.NO_OPMATH
    return elementwise_dtypes(*values, type_promotion_kind=kind)[1]


def test_complex_and_real_dtypes() -> None:
    for dtype, expected in (("to_complex(x)", torch.complex64), ("to_real(to_complex(x))", torch.float32)):
        resolved = rule("f(Tensor x) -> Tensor", f"meta: {{out: {{size: x, dtype: '{dtype}'}}}}")
        assert apply(resolved, {"x": X})[0].dtype == expected


def test_dtype_numbers() -> None:
    """What torch_npu 2.13's npu_dtype_cast makes of the same numbers, on the stand-in."""

    def dtype(number: int) -> torch.dtype:
        (result,) = apply(rule("f(Tensor x, int n) -> Tensor", _BY_NUMBER), {"x": X, "n": number})
        assert result.dtype is not None
        return result.dtype

    expected = {
        6: torch.float32,
        15: torch.bfloat16,
        24: torch.float8_e4m3fn,
        29: torch.uint64,
        44: torch.float8_e8m0fnu,
        45: torch.float4_e2m1fn_x2,
        257: torch.float16,
        259: torch.int32,
        265: torch.int64,
        268: torch.bool,
        283: torch.bfloat16,
        292: torch.float8_e4m3fn,
        296: torch.float4_e2m1fn_x2,
        297: torch.uint8,
    }
    assert {number: dtype(number) for number in expected} == expected
    for number in (-1, 40, 255, 261, 288):
        with pytest.raises(ValueError, match="no dtype number"):
            dtype(number)


_BY_NUMBER = "meta: {out: {size: x, dtype: dtype_from_int(n)}}"


def test_requirements_hold_or_raise() -> None:
    resolved = rule(
        "f(Tensor x) -> Tensor",
        "meta:",
        "  let: {n: x.size(-1)}",
        "  require: [[n % 2 == 0, 'last dim of x must be even, got {n}']]",
        "  out: {size: 'set(x.shape, -1, n // 2)', dtype: x}",
    )
    assert apply(resolved, {"x": X})[0].shape == (2, 3, 4)
    with pytest.raises(RequirementFailed, match="must be even, got 3"):
        apply(resolved, {"x": torch.empty(2, 3)})


@pytest.mark.parametrize(
    "size",
    [
        "x",
        "[ceildiv(x.size(0), 32), align(x.size(1), 16), x.numel() // 2]",
        "set(x.shape, -1, x.size(-1) // 2)",
        "reduce(x, [1], True)",
        "broadcast(x, y)",
        "matmul_shape(x, [x.size(1), 7])",
        "[conv_out(x.size(1), 3, 2, 1), x.size(0)]",
    ],
)
def test_symbolic_sizes_stay_symbolic(size: str) -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext

    resolved = rule("f(Tensor x, Tensor y) -> Tensor", f"meta: {{out: {{size: '{size}', dtype: x}}}}")
    shapes = ShapeEnv()
    mode = FakeTensorMode(shape_env=shapes)
    context = StatelessSymbolicContext(dynamic_sizes=[DimDynamic.DYNAMIC] * 2)
    x = mode.from_tensor(torch.empty(6, 10), symbolic_context=context)
    (result,) = apply(resolved, {"x": x, "y": x})
    assert result.shape is not None
    assert any(isinstance(s, torch.SymInt) for s in result.shape)
    assert not shapes.guards
    assert not shapes.replacements
