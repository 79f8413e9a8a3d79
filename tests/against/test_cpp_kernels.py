"""What C++ kernels do to arguments that their schema says they only read, in the forms people write."""

from __future__ import annotations

from pathlib import Path

import pytest
from comparing import against

SCHEMA = "f(Tensor x, Tensor cache) -> Tensor"
HEAD = "at::Tensor f(const at::Tensor& x, at::Tensor& cache) {{ {} return at::empty_like(x); }}\n"
REGISTERED = 'TORCH_LIBRARY_IMPL(npu, PrivateUse1, m) {{ m.impl("f", {}); }}\n'


def codes(directory: Path, schema: str, code: str) -> list[str]:
    return [d.code for d in against(directory, schema, code, "code.cpp") if d.severity.value != "note"]


@pytest.mark.parametrize("function", ["f", "&f", "TORCH_FN(f)"])
@pytest.mark.parametrize(
    "body",
    [
        "cache.copy_(x);",
        "cache.zero_();",
        "cache.view({-1}).zero_();",
        "cache.narrow(0, 0, 1).transpose(0, 1).copy_(x);",
        "auto c = cache.select(0, 1); c.add_(x);",
        "at::add_out(cache, x, x);",
    ],
)
def test_a_write_is_found(tmp_path: Path, body: str, function: str) -> None:
    code = HEAD.format(body) + REGISTERED.format(function)
    assert codes(tmp_path, SCHEMA, code) == ["OPK241"]
    assert codes(tmp_path, "f(Tensor x, Tensor(a!) cache) -> Tensor", code) == []


@pytest.mark.parametrize(
    "body",
    [
        "auto c = cache.clone(); c.zero_();",
        "cache.clone().zero_();",
        "auto c = cache.contiguous(); c.sizes();",
        "auto y = at::empty_like(x); at::add_out(y, x, cache);",
        "cache.requires_grad_(false);",
        "other.cache.zero_();",
    ],
)
def test_what_writes_another_tensor_is_not(tmp_path: Path, body: str) -> None:
    assert codes(tmp_path, SCHEMA, HEAD.format(body) + REGISTERED.format("f")) == []


def test_a_lambda_is_a_kernel(tmp_path: Path) -> None:
    kernel = "[](const at::Tensor& x, at::Tensor& cache) -> at::Tensor { cache.add_(x); return x.clone(); }"
    code = REGISTERED.format(kernel)
    assert codes(tmp_path, SCHEMA, code) == ["OPK241"]
    assert codes(tmp_path, "f(Tensor x, Tensor(a!) cache) -> Tensor", code) == []
    meta = "[](const at::Tensor& x) { return at::empty({x.size(0)}, x.options()); }"
    code = REGISTERED.replace("PrivateUse1", "Meta").format(meta)
    assert codes(tmp_path, "f(Tensor x) -> Tensor", code) == ["OPK243"]


def test_the_number_of_parameters(tmp_path: Path) -> None:
    code = "at::Tensor f(const at::Tensor& x) { return at::empty_like(x); }\n" + REGISTERED.format("f")
    assert codes(tmp_path, SCHEMA, code) == ["OPK221"]
    assert codes(tmp_path, "f(Tensor x) -> Tensor", code) == []
    boxed = "void f(const c10::OperatorHandle& op, torch::jit::Stack* stack) { }\n"
    code = boxed + REGISTERED.format("torch::CppFunction::makeFromBoxedFunction<&f>()")
    assert codes(tmp_path, "f(Tensor x) -> Tensor", code) == []


@pytest.mark.parametrize("call", ["n.item<int64_t>()", "n.item().toLong()", "n.cpu()", "n.to(at::kCPU)"])
def test_waiting_for_the_device(tmp_path: Path, call: str) -> None:
    code = "at::Tensor f(const at::Tensor& x, const at::Tensor& n) { auto k = CALL; return x.clone(); }\n"
    schema = "f(Tensor x, Tensor n) -> Tensor"
    assert codes(tmp_path, schema, code.replace("CALL", call) + REGISTERED.format("f")) == ["OPK245"]
    for harmless in ("n.to(at::kFloat)", "n.size(0)", "item(n)"):
        assert codes(tmp_path, schema, code.replace("CALL", harmless) + REGISTERED.format("f")) == []


def test_a_kernel_of_another_name_than_any_declared(tmp_path: Path) -> None:
    code = "at::Tensor f(const at::Tensor& x) { return at::empty_like(x); }\n" + REGISTERED.format("f")
    assert codes(
        tmp_path, "f(Tensor x) -> Tensor", code + REGISTERED.replace('"f"', '"f_pre"').format("f")
    ) == ["OPK226"]
