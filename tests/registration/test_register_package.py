"""`opkit.register`: shipped rules become Meta kernels of the installed torch_npu, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from declarations import SAMPLE, entry, fresh_namespace, op_file

import opkit
from opkit.errors import OpkitError


def test_importing_opkit_imports_no_torch() -> None:
    code = "import opkit, sys; sys.exit(any(m.startswith('torch') for m in sys.modules))"
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError):
        opkit.no_such_name  # noqa: B018


def test_a_file_and_what_was_read_from_one_are_registered(tmp_path: Path) -> None:
    import torch

    first, second = fresh_namespace(), fresh_namespace()
    path = tmp_path / "ops.yaml"
    path.write_text(SAMPLE)
    assert opkit.register(path, namespace=first).registered == (f"{first}::my_op", f"{first}::my_inplace")
    assert opkit.register(op_file(SAMPLE), namespace=second).registered[0] == f"{second}::my_op"
    # A second time there is nothing to do.
    assert opkit.register(path, namespace=first).kept == (f"{first}::my_op", f"{first}::my_inplace")
    x = torch.empty(2, 3, device="meta")
    assert getattr(torch.ops, first).my_op(x, None, [x], 1.0, 2).shape == (2, 3)


def test_the_rule_takes_the_place_of_a_meta_kernel_only_when_asked() -> None:
    import torch

    namespace = fresh_namespace()
    rule = entry("f(Tensor x) -> Tensor", "meta: {out: {size: '[7]', dtype: int8}}")
    library = torch.library.Library(namespace, "DEF")
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", lambda x: x.new_empty(3), "Meta")
    x = torch.empty(2, device="meta")
    f = getattr(torch.ops, namespace).f
    assert opkit.register(op_file(rule), namespace=namespace).kept == (f"{namespace}::f",)
    assert f(x).shape == (3,)
    assert opkit.register(op_file(rule), namespace=namespace, replace=True).registered == (f"{namespace}::f",)
    assert (f(x).shape, f(x).dtype) == ((7,), torch.int8)


def test_a_correction_takes_the_place_of_a_wrong_meta_kernel_once() -> None:
    import torch

    namespace = fresh_namespace()
    library = torch.library.Library(namespace, "DEF")
    for name in ("wrong", "right"):
        library.define(f"{name}(Tensor x, int n=2) -> Tensor")
        library.impl(name, lambda x, n=3: x.new_empty(n), "Meta")
    rule = entry("wrong(Tensor x, int n=2) -> Tensor", "meta: {out: {size: '[n]', dtype: x}}")
    other = entry("right(Tensor x, int n=2) -> Tensor", "meta: {out: {size: '[n]', dtype: x}}")
    ops = op_file(rule.rstrip() + "\n    corrects: its default of n is 3\n" + other.split("custom:\n")[1])
    wrong, right = f"{namespace}::wrong", f"{namespace}::right"
    x = torch.empty(5, device="meta")
    call = getattr(torch.ops, namespace)
    assert call.wrong(x).shape == (3,)
    done = opkit.register(ops, namespace=namespace)
    assert (done.registered, done.kept) == ((), (right,))
    assert done.corrected == ((wrong, "its default of n is 3"),)
    assert (call.wrong(x).shape, call.right(x).shape) == ((2,), (3,))
    # What is corrected is no longer wrong.
    again = opkit.register(ops, namespace=namespace)
    assert (again.kept, again.corrected) == ((wrong, right), ())
    # Asked to replace, both are replaced.
    assert opkit.register(ops, namespace=namespace, replace=True).registered == (wrong, right)
    assert call.right(x).shape == (2,)


def test_what_torch_asks_before_a_meta_kernel_is_not_replaced() -> None:
    import torch

    namespace = fresh_namespace()
    library = torch.library.Library(namespace, "DEF")
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", lambda x: x.clone(), "CompositeImplicitAutograd")
    rule = entry("f(Tensor x) -> Tensor", "meta: {out: {size: '[7]', dtype: int8}}")
    with pytest.raises(OpkitError, match="composite"):
        opkit.register(op_file(rule), namespace=namespace, replace=True)


def test_a_file_with_mistakes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ops.yaml"
    path.write_text(entry("f(Tensor x) -> Tensor", "meta: {out: {size: y, dtype: x}}"))
    with pytest.raises(OpkitError):
        opkit.register(str(path))


def on_stand_in(soc: str, script: Path, code: str) -> dict[str, Any]:
    script.write_text(f"import torch, torch_npu, json, opkit\n{code}\nprint(json.dumps(found))\n")
    command = [sys.executable, "-m", "opkit", "run", "--soc", soc, str(script)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


REGISTER = """
from opkit.prove.watch import has_meta
names = torch._C._dispatch_get_all_op_names()
before = [n for n in names if n.startswith(("npu::", "atb::")) and not has_meta(n)]
done = opkit.register("torch_npu")
found = {
    "registered": list(done.registered), "kept": list(done.kept), "refused": [n for n, _ in done.refused],
    "reasons": [why for _, why in done.refused], "before": before,
    "without": [n for n in done.registered if not has_meta(n)],
    "corrected": [n for n, _ in done.corrected],
    "again": [n for n, _ in opkit.register("torch_npu").corrected],
}
from torch._subclasses.fake_tensor import FakeTensorMode
with FakeTensorMode():
    grad = torch.empty(5, 4, device="npu")
    found["shape"] = list(torch.ops.npu.npu_renorm_backward(grad, grad, 2, 0, 1.0).shape)
"""


@pytest.mark.npu
@pytest.mark.parametrize("soc", ["910B", "950"])
def test_torch_npu(soc: str, tmp_path: Path) -> None:
    found = on_stand_in(soc, tmp_path / "script.py", REGISTER)
    assert "npu::npu_renorm_backward" in found["registered"]
    assert set(found["registered"]) <= set(found["before"])
    assert found["without"] == []
    assert "npu::npu_geglu_grad" in found["corrected"]
    assert not set(found["corrected"]) & set(found["before"])
    assert found["again"] == []
    assert found["shape"] == [5, 4]
    aclop_only = "npu::npu_ptiou" in found["refused"]
    assert aclop_only == (soc == "950")
    if soc == "910B":
        assert found["refused"] == [], found["reasons"]


CORRECTED = """
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

def calls():
    def attempt(function, *arguments):
        try:
            return function(*arguments)
        except Exception as error:
            return type(error).__name__

    with FakeTensorMode():
        x, half = torch.empty(4, 10, device="npu"), torch.empty(4, 5, device="npu")
        cache, where = torch.empty(6, 4, 8, device="npu"), torch.empty(1, dtype=torch.int64, device="npu")
        rows = torch.empty(1, 6, 1, 8, device="npu")
        gradient = attempt(lambda: list(torch.ops.npu.npu_geglu_grad(half, x, half).shape))
        scattered = attempt(
            lambda: [list(y.shape) for y in torch.ops.npu.npu_scatter_list([cache], where, rows)])
        written = attempt(lambda: torch.ops.npu.npu_scatter_list_([cache], where, rows))
        combined = attempt(lambda: list(torch.ops.npu.npu_moe_distribute_combine(
            x, torch.empty(3, 2, device="npu"), where, where, half, "ep", 2, 0, 4, shared_expert_x=x).shape))
    function = lambda x: torch.ops.npu.npu_dynamic_mx_quant(x, dst_type=291)[1]
    graph = make_fx(function, tracing_mode="symbolic")(torch.empty(70, 300, device="meta"))
    node = next(n for n in graph.graph.nodes if n.op == "output").args[0]
    sizes = [type(n).__name__ for n in node.meta["val"].shape]
    return [gradient, scattered, written, combined, sizes]

found = {"before": calls()}
opkit.register("torch_npu")
found["after"] = calls()
"""


@pytest.mark.npu
def test_calls_that_only_a_corrected_meta_kernel_takes(tmp_path: Path) -> None:
    found = on_stand_in("910B", tmp_path / "script.py", CORRECTED)
    assert found["before"] == [*["TypeError"] * 4, ["SymInt", "int", "int"]]
    assert found["after"] == [[4, 10], [[6, 4, 8]], None, [3, 10], ["SymInt", "SymInt", "int"]]
