"""The Meta module in Library style, imported for real on torch's CPU build."""

from __future__ import annotations

import contextlib
import gc
import importlib
import inspect
from pathlib import Path

import pytest
import torch
from declarations import SAMPLE, entry, fresh_namespace, import_text, op_file

from opkit.emit import emit_meta
from opkit.errors import OpkitError


def generate(directory: Path, func: str, *lines: str, namespace: str | None = None):  # type: ignore[no-untyped-def]
    namespace = namespace or fresh_namespace()
    text = emit_meta(op_file(entry(func, *lines), str(directory / "ops.yaml")), "library", namespace)
    return import_text(text, directory), getattr(torch.ops, namespace)


def meta(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.empty(shape, dtype=dtype, device="meta")


def test_the_sample_operators(tmp_path: Path) -> None:
    namespace = fresh_namespace()
    import_text(emit_meta(op_file(SAMPLE), "library", namespace), tmp_path)
    ops = getattr(torch.ops, namespace)
    x = meta(2, 3, dtype=torch.float16)
    result = ops.my_op(x, None, [x, x], 1.0, 2)
    assert (result.shape, result.dtype, result is x) == ((2, 3), torch.float16, False)
    y = meta(5)
    assert ops.my_inplace(x, y).shape == (5,)
    assert ops.my_inplace.default._schema.is_mutable


def test_the_text_is_the_same_every_time_and_names_no_machine(tmp_path: Path) -> None:
    texts = {emit_meta(op_file(SAMPLE, str(tmp_path / name / "ops.yaml"))) for name in ("a", "b")}
    assert len(texts) == 1
    assert str(tmp_path) not in texts.pop()


def test_the_operators_outlive_garbage_collection_and_a_second_import(tmp_path: Path) -> None:
    namespace = fresh_namespace()
    text = emit_meta(
        op_file(entry("f(Tensor x) -> Tensor", "meta: {out: {size: x, dtype: x}}")), "library", namespace
    )
    module = import_text(text, tmp_path)
    operator = getattr(torch.ops, namespace).f.default
    importlib.reload(module)
    import_text(text, tmp_path)
    gc.collect()
    assert getattr(torch.ops, namespace).f.default is operator
    assert operator(meta(3)).shape == (3,)


def test_another_schema_under_the_same_name_is_refused_with_both_shown(tmp_path: Path) -> None:
    namespace = fresh_namespace()
    rule = "meta: {out: {size: x, dtype: x}}"
    generate(tmp_path, "f(Tensor x, SymInt n=1) -> Tensor", rule, namespace=namespace)
    with pytest.raises(RuntimeError) as caught:
        generate(tmp_path, "f(Tensor x, int n=2) -> Tensor", rule, namespace=namespace)
    assert f"{namespace}::f(Tensor x, SymInt n=1) -> Tensor" in str(caught.value)
    assert f"{namespace}::f(Tensor x, int n=2) -> Tensor" in str(caught.value)


@pytest.mark.parametrize(("first", "second", "accepted"), [("SymInt", "int", True), ("int", "SymInt", False)])
def test_an_operator_that_takes_symbolic_sizes_takes_sizes(
    tmp_path: Path, first: str, second: str, accepted: bool
) -> None:
    namespace = fresh_namespace()
    rule = "meta: {out: {size: x, dtype: x}}"
    generate(tmp_path, f"f(Tensor x, {first} n=1) -> Tensor", rule, namespace=namespace)
    with contextlib.nullcontext() if accepted else pytest.raises(RuntimeError):
        generate(tmp_path, f"f(Tensor x, {second} n=1) -> Tensor", rule, namespace=namespace)


def test_an_optional_result_can_be_none(tmp_path: Path) -> None:
    _, ops = generate(
        tmp_path, "f(Tensor x, Tensor? y) -> (Tensor, Tensor?)",
        "meta: {a: {size: x, dtype: x}, b: {size: y.shape if present(y) else None, dtype: y}}",
    )  # fmt: skip
    assert ops.f(meta(2), None)[1] is None
    assert ops.f(meta(2), meta(3, dtype=torch.int8))[1].dtype == torch.int8


def test_an_operator_that_exists_keeps_its_schema_and_its_meta_kernel(tmp_path: Path) -> None:
    namespace = fresh_namespace()
    library = torch.library.Library(namespace, "DEF")
    # torch_npu registers `self` as `input`, and spacing is free.
    library.define("f(Tensor  input,float eps = 1e-20) -> Tensor")
    library.impl("f", lambda x, eps=1e-20: x.new_empty(7), "Meta")
    _, ops = generate(
        tmp_path, "f(Tensor self, float eps=1e-20) -> Tensor", "meta: {out: {size: self, dtype: self}}",
        namespace=namespace,
    )  # fmt: skip
    assert ops.f(meta(3)).shape == (7,)


def test_a_composite_operator_is_left_alone(tmp_path: Path) -> None:
    namespace = fresh_namespace()
    library = torch.library.Library(namespace, "DEF")
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", lambda x: x + 1, "CompositeImplicitAutograd")
    _, ops = generate(
        tmp_path, "f(Tensor x) -> Tensor", "meta: {out: {size: x, dtype: x}}", namespace=namespace
    )
    assert ops.f(torch.zeros(2)).tolist() == [1.0, 1.0]


DEFAULTS = (
    'f(Tensor x, int a=3, float e=1e-06, float p=2, str s="a\\"b", int[2] k=1, int[] d=[1,2], bool b=True, '
    "ScalarType t=float16, int? m=None, *, Scalar q=2, int r=Mean, "
    "MemoryFormat mf=contiguous_format) -> Tensor"
)


def test_defaults_are_those_of_the_schema_in_value_and_type(tmp_path: Path) -> None:
    quoted = "'" + DEFAULTS.replace("'", "''") + "'"
    module, ops = generate(tmp_path, quoted, "meta: {out: {size: x, dtype: x}}")
    schema = ops.f.default._schema
    for argument, parameter in zip(schema.arguments, inspect.signature(module.f).parameters.values()):
        assert argument.name == parameter.name
        assert argument.has_default_value() == (parameter.default is not parameter.empty)
        if parameter.name == "t":
            assert parameter.default is torch.float16
        elif parameter.name == "mf":
            assert parameter.default is torch.contiguous_format
        elif argument.has_default_value():
            wanted = argument.default_value
            # One default serves all calls, so it must not be a list.
            wanted = tuple(wanted) if isinstance(wanted, list) else wanted
            assert parameter.default == wanted
            assert type(parameter.default) is type(wanted)
    assert ops.f(meta(2)).shape == (2,)


def test_names_that_python_or_the_kernel_needs_are_renamed(tmp_path: Path) -> None:
    func = "f(Tensor torch, int lambda, int[] len, *, int from=1, int sum, int async) -> Tensor"
    rule = "meta: {out: {size: '[len(len), sum(len), sum]', dtype: torch}}"
    module, ops = generate(tmp_path, func, rule)
    assert list(inspect.signature(module.f).parameters)[:3] == ["torch_", "lambda_", "len_"]
    assert ops.f(meta(3), 1, [9, 8], **{"async": 5, "sum": 4}).shape == (2, 17, 4)
    assert ops.f(meta(3), 1, [9, 8], **{"async": 5, "sum": 4, "from": 2}).shape == (2, 17, 4)


def test_a_required_keyword_may_follow_a_default(tmp_path: Path) -> None:
    rule = "meta: {out: {size: '[a, b, c]', dtype: x}}"
    _, ops = generate(tmp_path, "f(Tensor x, int a=3, *, int b=1, int c) -> Tensor", rule)
    assert ops.f(meta(1), c=7).shape == (3, 1, 7)


def test_results_follow_the_schema(tmp_path: Path) -> None:
    _, ops = generate(tmp_path, "f(Tensor(a!) x) -> ()")
    assert ops.f(meta(2)) is None
    _, ops = generate(tmp_path, "f.o(Tensor x, *, Tensor(a!) out) -> Tensor(a!)")
    out = meta(4)
    assert ops.f.o(meta(2), out=out).data_ptr() == out.data_ptr()
    rule = "meta: {a: {size: '[2]', dtype: int32}, b: {size: x, dtype: x}}"
    _, ops = generate(tmp_path, "f(Tensor x) -> (Tensor, Tensor)", rule)
    assert [r.dtype for r in ops.f(meta(2))] == [torch.int32, torch.float32]
    _, ops = generate(tmp_path, "f(Tensor x) -> (Tensor out)", "meta: {out: {size: x, dtype: x}}")
    assert ops.f(meta(2)).shape == (2,)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize(
    ("func", "size", "dtype", "call"),
    [
        ("f(Tensor? y, Tensor x) -> Tensor", "x", "x", lambda f, x: f(None, x)),
        ("f(Tensor[] x) -> Tensor", "'x[0]'", "'x[0]'", lambda f, x: f([x])),
        ("f(Tensor? x, Tensor? y) -> Tensor", "'[2]'", "float32", lambda f, x: f(None, x)),
        ("f(int n, Tensor[]? x=None) -> Tensor", "'[n]'", "float32", lambda f, x: f(1, [x])),
    ],
)
def test_the_device_follows_the_tensors(  # type: ignore[no-untyped-def]
    tmp_path: Path, device: str, func: str, size: str, dtype: str, call
) -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    _, ops = generate(tmp_path, func, f"meta: {{out: {{size: {size}, dtype: {dtype}}}}}")
    with FakeTensorMode():
        assert call(ops.f, torch.empty(2, device=device)).device.type == device


def test_without_tensors_a_device_argument_decides(tmp_path: Path) -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    rule = "meta: {out: {size: '[n]', dtype: uint8}}"
    module, ops = generate(tmp_path, "f(int n, *, Device? device=None) -> Tensor", rule)
    with FakeTensorMode():
        assert ops.f(4, device=torch.device("cpu")).device.type == "cpu"
    assert torch._C._get_privateuse1_backend_name() == module.DEVICE


@pytest.mark.parametrize("lines", [("side_effect: true",), ()])
def test_a_side_effect_keeps_the_operator_in_the_graph(tmp_path: Path, lines: tuple[str, ...]) -> None:
    from torch.fx.experimental.proxy_tensor import make_fx

    _, ops = generate(tmp_path, "f.named(Tensor x, int size) -> ()", *lines)
    operator = ops.f.named

    def model(x: torch.Tensor) -> torch.Tensor:
        operator(x, 1)
        return x + 1

    graph = make_fx(model, tracing_mode="fake")(torch.zeros(2)).graph
    graph.eliminate_dead_code()
    assert any(n.target is operator for n in graph.nodes) is bool(lines)


def test_a_requirement_raises_with_its_message(tmp_path: Path) -> None:
    _, ops = generate(
        tmp_path, "f(Tensor x) -> Tensor", "meta:", "  let: {n: x.size(-1)}",
        "  require: [[n % 2 == 0, 'last dim of x must be even, got {n} of {{x}}']]",
        "  out: {size: 'set(x.shape, -1, n // 2)', dtype: x}",
    )  # fmt: skip
    assert ops.f(meta(4, 6)).shape == (4, 3)
    with pytest.raises(RuntimeError, match=r"last dim of x must be even, got 3 of \{x\}"):
        ops.f(meta(3))


def test_a_python_function_can_be_the_rule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rules_of_mine.py").write_text("def f_meta(x):\n    return x.new_empty(11)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    for entry_point in ("rules_of_mine:f_meta", "rules_of_mine.py:f_meta"):
        _, ops = generate(tmp_path, "f(Tensor x) -> Tensor", f"meta: {{python: '{entry_point}'}}")
        assert ops.f(meta(2)).shape == (11,)


def test_without_a_rule_nothing_is_printed() -> None:
    with pytest.raises(OpkitError, match="no rule for the result of f"):
        emit_meta(op_file(entry("f(Tensor x) -> Tensor")))


def test_generated_kernels_leave_no_guards(tmp_path: Path) -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext

    _, ops = generate(
        tmp_path, "f(Tensor x, Tensor y) -> (Tensor, Tensor, Tensor)",
        "meta:",
        "  a: {size: 'set(x.shape, -1, x.size(-1) // 2)', dtype: x}",
        "  b: {size: '[ceildiv(x.size(0), 32), align(x.size(1), 16)]', dtype: float32}",
        "  c: {size: 'reduce(x, [-1], True)', dtype: x}",
    )  # fmt: skip
    shapes = ShapeEnv()
    mode = FakeTensorMode(shape_env=shapes)
    context = StatelessSymbolicContext(dynamic_sizes=[DimDynamic.DYNAMIC] * 2)
    x = mode.from_tensor(torch.empty(6, 10), symbolic_context=context)
    with mode:
        results = ops.f(x, x)
    assert all(any(isinstance(s, torch.SymInt) for s in r.shape) for r in results)
    assert not shapes.guards
    assert not shapes.replacements
