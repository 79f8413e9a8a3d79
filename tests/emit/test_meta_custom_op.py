"""The Meta module in custom_op style."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest
import torch
from declarations import entry, fresh_namespace, import_text, op_file

from opkit.emit import emit_meta
from opkit.emit.meta_custom_op import check
from opkit.emit.meta_kernel import Options
from opkit.emit.package import generate
from opkit.errors import OpkitError

RULE = "meta: {out: {size: x, dtype: x}}"


def emitted(func: str, *lines: str, path: str = "ops.yaml") -> str:
    return emit_meta(op_file(entry(func, *lines), path), "custom-op")


def test_mutates_args_is_exactly_what_the_schema_writes() -> None:
    assert "mutates_args=()" in emitted("t::f(Tensor x) -> Tensor", RULE)
    text = emitted("t::f(Tensor(a!) x, Tensor y, Tensor(b!)[] z) -> Tensor", RULE)
    assert 'mutates_args=("x", "z")' in text
    assert 'mutates_args=("x",)' in emitted("t::f(Tensor(a!) x) -> ()")


def test_the_operator_works_on_fakes_and_its_kernel_runs(tmp_path: Path) -> None:
    namespace = fresh_namespace()
    (tmp_path / "reference.py").write_text(
        "def f(x, *, n=2):\n    x.add_(n)\n    return x * 2\n", encoding="utf-8"
    )
    func = f"{namespace}::f(Tensor(a!) x, *, int n=2) -> Tensor"
    text = emitted(func, RULE, "kernel: reference.py:f")
    # The stand-in for the NPU's device type has no kernels here, the CPU has.
    module = import_text(text.replace("device_types=DEVICE", 'device_types="cpu"'), tmp_path)
    operator = getattr(torch.ops, namespace).f
    assert operator(torch.empty(3, device="meta")).shape == (3,)
    x = torch.zeros(2)
    assert operator(x).tolist() == [4.0, 4.0]
    assert x.tolist() == [2.0, 2.0]
    assert torch.compile(lambda t: module.f(t, n=3), backend="aot_eager", fullgraph=True)(x).tolist() == [
        10.0,
        10.0,
    ]


def test_importing_twice_keeps_the_operator(tmp_path: Path) -> None:
    namespace = fresh_namespace()
    text = emitted(f"{namespace}::f(Tensor x) -> Tensor", RULE)
    module = import_text(text, tmp_path)
    operator = getattr(torch.ops, namespace).f.default
    importlib.reload(module)
    second = import_text(text, tmp_path)
    assert second.f is module.f
    assert getattr(torch.ops, namespace).f.default is operator
    with pytest.raises(RuntimeError, match=r"declared: .*Tensor y"):
        import_text(emitted(f"{namespace}::f(Tensor x, Tensor y) -> Tensor", RULE), tmp_path)


def test_an_operator_of_another_library_is_not_redefined(tmp_path: Path) -> None:
    namespace = fresh_namespace()
    library = torch.library.Library(namespace, "DEF")
    library.define("f(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match="by another library"):
        import_text(emitted(f"{namespace}::f(Tensor x) -> Tensor", RULE), tmp_path)


def test_a_kernel_that_is_not_written_says_where_to_write_it(tmp_path: Path) -> None:
    namespace = fresh_namespace()
    text = emitted(f"{namespace}::f(Tensor x) -> Tensor", RULE).replace(
        "device_types=DEVICE", 'device_types="cpu"'
    )
    import_text(text, tmp_path)
    with pytest.raises(NotImplementedError, match=r"a function f in kernels\.py"):
        getattr(torch.ops, namespace).f(torch.zeros(2))


def test_kernels_are_written_once_and_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    namespace = fresh_namespace()
    file = op_file(entry("f(Tensor x) -> Tensor", RULE), str(tmp_path / "ops.yaml"))
    directory = tmp_path / namespace
    package = generate(file, directory, "custom-op", Options(namespace), with_converters=False)
    assert directory / "kernels.py" in package.write(directory)
    (directory / "kernels.py").write_text("def f(x):\n    return x + 41\n", encoding="utf-8")
    assert package.write(directory) == ()
    assert package.stale(directory) == ()
    meta = directory / "meta.py"
    meta.write_text(meta.read_text().replace("device_types=DEVICE", 'device_types="cpu"'), encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module(namespace)
    assert module.f(torch.zeros(1)).tolist() == [41.0]
    del sys.modules[namespace]


def test_a_reference_is_no_kernel(tmp_path: Path) -> None:
    """A package must not need a file outside itself, nor compute on the CPU what the NPU should."""
    lines = (RULE, "reference: reference.py:f")
    file = op_file(entry("f(Tensor x) -> Tensor", *lines), str(tmp_path / "ops.yaml"))
    package = generate(file, tmp_path / "ops", "custom-op", with_converters=False)
    assert "reference" not in package.files["meta.py"]
    names: dict[str, object] = {}
    exec(package.once["kernels.py"], names)
    with pytest.raises(NotImplementedError, match=r"write the NPU kernel of npu::f in kernels\.py"):
        names["f"](torch.zeros(2))  # type: ignore[operator]


def test_package_and_yaml_can_be_moved_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    namespace = fresh_namespace()
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    (first / "reference.py").write_text("def f(x):\n    return x + 41\n", encoding="utf-8")
    file = op_file(entry("f(Tensor x) -> Tensor", RULE, "kernel: reference.py:f"), str(first / "ops.yaml"))
    package = generate(file, first / namespace, "custom-op", Options(namespace), with_converters=False)
    package.write(first / namespace)
    assert "kernels.py" not in package.once
    first.rename(second)
    meta = second / namespace / "meta.py"
    meta.write_text(meta.read_text().replace("device_types=DEVICE", 'device_types="cpu"'), encoding="utf-8")
    monkeypatch.syspath_prepend(str(second))
    assert importlib.import_module(namespace).f(torch.zeros(1)).tolist() == [41.0]


@pytest.mark.parametrize(
    ("func", "code"),
    [
        ("f(Tensor(a!) x) -> Tensor(a!)", "OPK210"),
        ("f.named(Tensor x) -> Tensor", "OPK211"),
        ("f(Tensor x, *, Tensor y) -> Tensor", "OPK212"),
    ],
)
def test_what_custom_op_refuses_is_a_diagnostic(func: str, code: str) -> None:
    lines = () if "(a!)" in func else (RULE,)
    file = op_file(entry(func, *lines))
    assert [d.code for d in check(file)] == [code]
    with pytest.raises(OpkitError, match=code):
        emit_meta(file, "custom-op")


def test_without_tensors_there_is_one_kernel_for_all_devices(tmp_path: Path) -> None:
    namespace = fresh_namespace()
    text = emitted(
        f"{namespace}::f(int n, Device device) -> Tensor", "meta: {out: {size: '[n]', dtype: uint8}}"
    )
    assert "device_types=None" in text
    import_text(text, tmp_path)
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        assert getattr(torch.ops, namespace).f(3, torch.device("cpu")).shape == (3,)


def test_the_device_type_is_valid_without_torch_npu(tmp_path: Path) -> None:
    namespace = fresh_namespace()
    module = import_text(emitted(f"{namespace}::f(Tensor x) -> Tensor", RULE), tmp_path)
    assert torch._C._get_privateuse1_backend_name() == module.DEVICE
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    assert has_kernel(f"{namespace}::f", "PrivateUse1")


def test_the_summary_counts() -> None:
    assert emitted("t::f(Tensor x) -> Tensor", RULE).startswith('"""1 custom operator and its Meta kernel.')
    two = entry("t::f(Tensor x) -> Tensor", RULE) + f"  - func: t::g(Tensor x) -> Tensor\n    {RULE}\n"
    text = emit_meta(op_file(two), "custom-op")
    assert text.startswith('"""2 custom operators and their Meta kernels.')


def test_names_that_python_reserves() -> None:
    text = emitted("f(Tensor x, *, int lambda, float from=1.0) -> Tensor", RULE)
    compile(text, "meta.py", "exec")
    assert '**{"lambda": lambda_}, **{"from": from_}' in " ".join(text.split())
