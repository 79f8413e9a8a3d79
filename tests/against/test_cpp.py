"""C++ sources: kernels that write or return what they should read, libraries, sizes in Meta kernels."""

from __future__ import annotations

from pathlib import Path

import pytest
from comparing import against, codes, declared, underlined

from opkit.against.cpp.functions import find_functions
from opkit.against.cpp.libraries import find_registrations
from opkit.against.cpp.source import CppSource
from opkit.model.diagnostic import Diagnostic

CACHE = "cache_update(Tensor kv, Tensor k_cache, Tensor? scale=None) -> (Tensor, Tensor)"
CACHE_V2 = "cache_update(Tensor kv, Tensor(a!) k_cache, Tensor? scale=None) -> (Tensor, Tensor)"
KERNEL = """\
#include <torch/library.h>
namespace op_api {{
std::tuple<at::Tensor, at::Tensor> cache_update(
    const at::Tensor& kv, const at::Tensor &k_cache, const c10::optional<at::Tensor>& scale)
{{
    // return std::tie(k_cache, kv) would be a comment
    auto rope = npu_preparation::apply_tensor_without_format(kv);
    {body}
}}
}}
"""


def kernel(directory: Path, body: str, schema: str = CACHE) -> list[Diagnostic]:
    return against(directory, schema, KERNEL.format(body=body), "kernel.cpp")


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("return std::tie(k_cache, rope);", ["k_cache"]),
        ("return std::make_tuple(rope, k_cache);", ["k_cache"]),
        ("return std::tuple<at::Tensor, at::Tensor>(k_cache, rope);", ["k_cache"]),
        ("return {k_cache, kv};", ["k_cache", "kv"]),
        ("return {std::move(k_cache), rope};", ["std::move(k_cache)"]),
        ("at::Tensor k_cache_ref = k_cache;\n    return std::tie(k_cache_ref, rope);", ["k_cache_ref"]),
        ("auto& ref = const_cast<at::Tensor&>(k_cache);\n    return {ref, rope};", ["ref"]),
        ("if (kv.numel() == 0) { return {k_cache, rope}; }\n    return {rope, rope};", ["k_cache"]),
        ("return {rope, rope};", []),
        ("return std::make_tuple(rope, k_cache.size(0));", []),
        ("auto f = [&]() { return k_cache; };\n    return {rope, rope};", []),
        ("auto f = [](int a) { return k_cache; };\n    return {rope, rope};", []),
        ("at::Tensor y = k_cache;\n    y = rope;\n    return {y, rope};", []),
        ("return {at::empty_like(k_cache), rope};", []),
        ("return std::make_tuple(k_cache.contiguous(), rope);", []),
        ('TORCH_CHECK(false, "return {k_cache, kv};");', []),
    ],
)
def test_returned_arguments(tmp_path: Path, body: str, found: list[str]) -> None:
    diagnostics = kernel(tmp_path, body)
    assert [underlined(d) for d in diagnostics] == found
    assert set(codes(diagnostics)) <= {"OPK240 error"}
    # Declared as written it is nobody's business which memory the results are, but the schema's.
    assert "k_cache" not in "".join(d.message for d in kernel(tmp_path, body, CACHE_V2))


def test_a_returned_argument_the_schema_returns(tmp_path: Path) -> None:
    code = "at::Tensor& add_(at::Tensor& self, const at::Tensor& y) { return self; }\n"
    assert against(tmp_path, "add_(Tensor(a!) self, Tensor y) -> Tensor(a!)", code, "k.cpp") == []
    code = "at::Tensor& add_out(const at::Tensor& x, at::Tensor& out) { return out; }\n"
    assert against(tmp_path, "add.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", code, "k.cpp") == []
    wrong = code.replace("return out", "return x")
    assert codes(against(tmp_path, "add.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", wrong, "k.cpp")) == [
        "OPK240 error"
    ]
    view = "at::Tensor alias(const at::Tensor& self) { return self; }\n"
    assert against(tmp_path, "alias(Tensor(a) self) -> Tensor(a)", view, "k.cpp") == []
    assert codes(against(tmp_path, "alias(Tensor self) -> Tensor", view, "k.cpp")) == ["OPK240 error"]


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("EXEC_NPU_CMD(aclnnAcc, x, self);\n    return self.clone();", "self.clone()"),
        ("EXEC_NPU_CMD(aclnnInplaceAcc, self, x);\n    return at::empty_like(x);", "self"),
        ("EXEC_NPU_CMD(aclnnAcc, x, self);\n    return at::empty_like(x);", "self"),
        ("auto y = at::empty_like(x);\n    EXEC_NPU_CMD(aclnnAcc, x, self, y);\n    return y;", None),
        ("auto y = at::empty_like(x);\n    EXEC_NPU_CMD(aclnnAcc, y, x, self);\n    return y;", None),
        ("at::Tensor y = self.clone();\n    EXEC_NPU_CMD(aclnnInplaceAcc, y, x);\n    return y;", None),
        ("return self.clone();", None),
        ("if (n) { return self.clone(); }\n    EXEC_NPU_CMD(aclnnAcc, self, x, y);\n    return y;", None),
    ],
)
def test_written_arguments(tmp_path: Path, body: str, found: str | None) -> None:
    code = f"at::Tensor acc(const at::Tensor& self, const at::Tensor& x)\n{{\n    {body}\n}}\n"
    diagnostics = against(tmp_path, "acc(Tensor self, Tensor x) -> Tensor", code, "kernel.cpp")
    assert codes(diagnostics) == (["OPK241 warning"] if found else [])
    assert [underlined(d) for d in diagnostics] == ([found] if found else [])
    written = against(tmp_path, "acc(Tensor(a!) self, Tensor x) -> Tensor", code, "kernel.cpp")
    assert written == []


def test_what_a_parameter_holds_may_change(tmp_path: Path) -> None:
    code = "at::Tensor f(at::Tensor x) {{ {} return x; }}\n"
    assert codes(against(tmp_path, "f(Tensor x) -> Tensor", code.format(""), "k.cpp")) == ["OPK240 error"]
    changed = code.format("x = at::relu(x);")
    assert against(tmp_path, "f(Tensor x) -> Tensor", changed, "k.cpp") == []


def test_commas_in_template_arguments(tmp_path: Path) -> None:
    code = "at::Tensor f(const at::Tensor& x, std::array<bool, 2> mask) { return x; }\n"
    assert codes(against(tmp_path, "f(Tensor x, bool[2] mask) -> Tensor", code, "k.cpp")) == ["OPK240 error"]


def test_the_overload_is_told_by_its_arguments(tmp_path: Path) -> None:
    two = declared("f(Tensor x) -> Tensor", "f.pair(Tensor(a!) x, Tensor y) -> Tensor(a!)")
    pair = "at::Tensor& f(at::Tensor& x, const at::Tensor& y) { return x; }\n"
    code = "at::Tensor f(const at::Tensor& x) { return x; }\n" + pair
    (found,) = against(tmp_path, two, code, "kernel.cpp")
    assert (found.operator, found.code) == ("f", "OPK240")


def test_a_kernel_is_found_by_its_registration(tmp_path: Path) -> None:
    code = """\
at::Tensor my_impl(const at::Tensor& a) { return a; }
at::Tensor other(const at::Tensor& a) { return a; }
TORCH_LIBRARY_IMPL(my_ns, PrivateUse1, m) { m.impl("f", TORCH_FN(ns::my_impl)); }
"""
    (found,) = against(tmp_path, "f(Tensor x) -> Tensor", code, "kernel.cpp")
    assert "returns its argument `a`" in found.message


BINDING = r"""
TORCH_LIBRARY(my_ns, ops)
{
    ops.def("store_metadata(Tensor x, int n=0)" /* joined */ " -> ()");
    // ops.def("commented(Tensor x) -> Tensor");
    ops.def(R"(raw(Tensor x,
              str s="a") -> Tensor)");
    ops.def("swap(Tensor(a!) x) -> ()");
    ops.impl("swap", torch::kPrivateUse1, &my_ns::swap);
    ops.def("needs(Tensor x) -> Tensor", {at::Tag::pt2_compliant_tag});
    ops.def("composite(Tensor x) -> Tensor", &my_ns::composite);
#ifdef A
    ops.def("chunk(Tensor x) -> Tensor");
#else
    ops.def("chunk(Tensor x, int n) -> Tensor");
#endif
}
"""
METAS = """\
TORCH_LIBRARY_IMPL_EXPAND(my_ns, Meta, ops) {
    ops.impl("store_pre", &my_ns::meta::store);
    ops.impl("raw", &my_ns::meta::raw);
#ifdef A
    ops.impl("chunk", &my_ns::meta::chunk);
#else
    ops.impl("chunk", &my_ns::meta::chunk2);
#endif
}
"""


def test_definitions_and_registrations_differ(tmp_path: Path) -> None:
    found = against(tmp_path, "f(Tensor x) -> ()", BINDING + METAS, "binding.cpp")
    assert codes(found) == ["OPK226 error", "OPK227 warning"]
    stale, missing = found
    assert "my_ns::store_pre" in stale.message
    assert "store_metadata" in stale.help
    assert missing.message == (
        "in the namespace my_ns, no Meta kernel is registered for needs; "
        "none for store_metadata, swap, which return nothing"
    )
    assert underlined(missing) == '"needs(Tensor x) -> Tensor"'


def test_a_fragment_may_not_be_all(tmp_path: Path) -> None:
    code = BINDING.replace("TORCH_LIBRARY", "TORCH_LIBRARY_FRAGMENT")
    found = against(tmp_path, "f(Tensor x) -> ()", code + METAS, "binding.cpp")
    assert codes(found)[0] == "OPK226 warning"
    only_metas = against(tmp_path, "f(Tensor x) -> ()", METAS, "binding.cpp")
    assert only_metas == []


def test_meta_kernels_in_cpp_count(tmp_path: Path) -> None:
    code = 'TORCH_LIBRARY_IMPL(npu, Meta, m) {\n    m.impl("f", &f_meta);\n    m.impl("f", &g_meta);\n}\n'
    both = declared("f(Tensor x) -> Tensor", "g(Tensor x) -> Tensor")
    found = against(tmp_path, both, code, "metas.cpp")
    assert codes(found) == ["OPK227 warning", "OPK228 error"]
    assert found[0].message.endswith(": g")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('TORCH_LIBRARY(a, m) { m.def("f(Tensor x) -> Tensor"); }', ["a::f "]),
        ('TORCH_LIBRARY_FRAGMENT(a, m) { m.def("f.out(Tensor x) -> Tensor"); }', ["a::f.out "]),
        (
            'TORCH_LIBRARY_EXPAND(CONCAT(_C, _x), m) { m.def("f(Tensor x) -> Tensor"); }',
            ["CONCAT(_C,_x)::f "],
        ),
        ('TORCH_LIBRARY_IMPL(a, PrivateUse1, m) { m.impl("f", &f); }', ["a::f PrivateUse1"]),
        ('TORCH_LIBRARY(a, m) { m.impl("f", torch::kMeta, &f); }', ["a::f Meta"]),
        (
            'TORCH_LIBRARY(a, m) { m.impl("f", torch::dispatch(c10::DispatchKey::Meta, TORCH_FN(f))); }',
            ["a::f Meta"],
        ),
        ('TORCH_LIBRARY(a, m) { m.def(TORCH_SELECTIVE_SCHEMA("a::f(Tensor x) -> Tensor")); }', ["a::f "]),
        ("TORCH_LIBRARY(a, m) { m.def(SCHEMA); }", []),
    ],
)
def test_library_forms(text: str, names: list[str]) -> None:
    found = find_registrations(find_functions(CppSource("x.cpp", text)))
    assert [f"{r.namespace}::{r.name} {r.key}" for r in found] == names


META = """\
namespace my_ns {{
namespace meta {{
at::Tensor f(const at::Tensor& x, const std::vector<at::Tensor>& xs)
{{
    {body}
}}
}}
}}
"""


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("return at::empty({n, 2}, x.options());", ["empty"]),
        ("auto n = x.size(0);", [".size"]),
        ("auto n = x.sizes();\n    auto k = x.numel();", [".sizes", ".numel"]),
        ("std::vector<int64_t> shape;", ["vector<int64_t>"]),
        ("auto n = x.size(0); auto m = x.size(1);", [".size"]),
        ("auto n = x.sym_size(0);\n    auto k = xs.size();", []),
        ("return at::empty_symint({x.sym_size(0)}, x.options());", []),
        ("auto n = x.size(0);  // symbolic-meta-ok: the rank is fixed", []),
        ("// symbolic-meta-ok: a weight\n    auto n = x.size(0);", []),
        ("// x.size(0)\n    return at::empty_like(x);", []),
    ],
)
def test_sizes_in_meta_kernels(tmp_path: Path, body: str, found: list[str]) -> None:
    code = META.format(body=body)
    diagnostics = against(tmp_path, "g(Tensor x) -> ()", code, "metas.cpp")
    assert [underlined(d) for d in diagnostics] == found
    assert set(codes(diagnostics)) <= {"OPK243 warning"}
    # Not in `namespace meta` and not registered as one: an eager kernel may ask for sizes.
    eager = code.replace("namespace meta", "namespace eager")
    assert against(tmp_path, "g(Tensor x) -> ()", eager, "metas.cpp") == []
    registered = eager + 'TORCH_LIBRARY_IMPL(my_ns, Meta, m) { m.impl("g", &my_ns::eager::f); }\n'
    assert len(against(tmp_path, "g(Tensor x) -> ()", registered, "metas.cpp")) == len(found)


BROKEN = (
    *("", "{", "}}}", '"', "'", 'R"(', "/*", "#if", "#else\n#endif\n#endif", "f(", "f() {"),
    *("TORCH_LIBRARY(a, m) {", "TORCH_LIBRARY(a, m) { m.def(); m.impl }"),
    "#ifdef A\nvoid f() {\n#else\nvoid g() {\n#endif\n  return;\n}\n",
)


@pytest.mark.parametrize("text", BROKEN)
def test_text_that_is_no_cpp_is_no_error(tmp_path: Path, text: str) -> None:
    assert against(tmp_path, "g(Tensor x) -> ()", text, "x.cpp") == []
