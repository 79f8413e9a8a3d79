"""Example scripts as text; tests/samples runs some."""

from __future__ import annotations

import ast

import pytest
from ge_specs import spec

from opkit.emit.mre import MODES, emit


def script(func: str, case: str, mode: str = "npugraph_ex", namespace: str = "npu") -> str:
    op = spec(func, reference="lib/reference.py:f", cases=f"[{case}]")
    text = emit(op, mode, namespace, "my_ops")
    ast.parse(text)
    return text


@pytest.mark.parametrize("mode", MODES)
def test_every_argument_gets_the_cases_value_or_the_schemas_default(mode: str) -> None:
    text = script(
        "f(Tensor x, Tensor? y, Tensor[] z, int n, *, float e=1e-6, int[2] k=1, ScalarType d=float16, "
        "str t='q') -> Tensor",
        '{x: "f16[B, 8]", y: null, z: ["i32[B]", "bool[2, B]"], n: 4, B: [5, 6]}',
        mode,
    )
    for line in (
        '"x": torch.rand(5, 8).to(torch.float16),',
        '"y": None,',
        '"z": [torch.randint(1, 8, (5,), dtype=torch.int32), torch.rand(2, 5) > 0.5],',
        '"n": 4,',
        '"e": 1e-06,',
        '"k": [1, 1],',
        '"d": torch.float16,',
        "def model(x, y, z, n, *, e, k, d, t):",
        "return torch.ops.npu.f.default(x, y, z, n, e=e, k=k, d=d, t=t)",
        "from lib.reference import f as reference",
    ):
        assert line in text


def test_written_arguments_are_compared() -> None:
    text = script("f(Tensor(a!) x, Tensor(b!) y) -> ()", '{x: "f32[2]", y: "f32[2]"}')
    for name in ("x", "y"):
        assert f'torch.testing.assert_close(on_npu["{name}"].cpu(), inputs["{name}"])' in text


def test_namespace_and_overload_are_the_operators() -> None:
    case = '{x: "f32[2]"}'
    assert "torch.ops.a.f.o(x)" in script("a::f.o(Tensor x) -> Tensor", case)
    other = script("f(Tensor x) -> Tensor", case, namespace="b")
    assert "torch.ops.b.f.default(x)" in other
    assert 'use_references(Path(__file__).with_name("ops.yaml"), "b")' in other
