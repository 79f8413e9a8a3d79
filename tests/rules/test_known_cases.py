"""Schemas of published operator packages, and what is (not) wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from opkit.check import check_path
from opkit.model.diagnostic import Diagnostic, Severity
from opkit.read import read_text
from opkit.rules import check


def findings(tmp_path: Path, func: str, rest: str = "", torch_version: str | None = None) -> list[Diagnostic]:
    path = tmp_path / "ops.yaml"
    path.write_text(f"custom:\n  - func: >-\n      {func}\n{rest}", encoding="utf-8")
    return check_path(path, torch_version)


def severities(found: list[Diagnostic]) -> dict[str, Severity]:
    return {d.code: d.severity for d in found}


UNDECLARED_WRITES = [
    (
        "batch_matmul_transpose(Tensor tensor_a, Tensor tensor_b, Tensor tensor_c, str? format_mode=None, "
        "str? quant_mode=None) -> ()"
    ),
    (
        "store_kv_block(Tensor key_in, Tensor key_cache_in, Tensor group_len, Tensor group_key_idx,"
        "Tensor group_key_cache_idx, int block_size=0) -> ()"
    ),
    (
        "transpose_kv_cache_by_block(Tensor[] kCache, Tensor[] vCache, Tensor blockIDs, int blockSize, "
        "int headNum, int headDim, int splitNum, int layerNum) -> ()"
    ),
    "swap_blocks_batch(Tensor x, Tensor y, Tensor z, int direction) -> ()",
    (
        "transfer_kv_dim_exchange(Tensor device_k, Tensor host_k, Tensor device_v, Tensor host_v, "
        "Tensor device_indices, Tensor host_indices, int page_size, int direct, int flags) -> ()"
    ),
    "init_address_lookup(Tensor address_lookups, Tensor buffer_offsets, Tensor emb_sizes) -> ()",
]


@pytest.mark.parametrize("func", UNDECLARED_WRITES)
def test_undeclared_write(tmp_path: Path, func: str) -> None:
    assert severities(findings(tmp_path, func))["OPK102"] is Severity.ERROR
    assert "OPK102" not in severities(findings(tmp_path, func, "    side_effect: true\n"))


def test_a_write_that_is_declared_needs_no_rule(tmp_path: Path) -> None:
    assert findings(tmp_path, "f(Tensor(a!) x, Tensor y) -> ()") == []


def test_a_result_needs_a_rule(tmp_path: Path) -> None:
    assert severities(findings(tmp_path, "f(Tensor x) -> Tensor")) == {"OPK103": Severity.NOTE}


@pytest.mark.parametrize(
    ("func", "returned", "severity"),
    [
        (
            "npu_scatter_nd_update_(Tensor(a!) self, Tensor indices) -> Tensor(a!)",
            ["`self`"],
            Severity.WARNING,
        ),
        ("f(Tensor(a!) x, Tensor(b!) y, Tensor z) -> (Tensor(a!), Tensor)", ["`x`"], Severity.ERROR),
        ("f(Tensor(a) x) -> Tensor(a)", ["`x`"], Severity.ERROR),
        (
            (
                "f.out(Tensor q, *, Tensor? workspace=None, Tensor(a!) attention_out, "
                "Tensor(b!) softmax_lse) -> (Tensor(a!), Tensor(b!))"
            ),
            ["`attention_out`", "`softmax_lse`"],
            Severity.WARNING,
        ),
    ],
)
def test_returned_argument(tmp_path: Path, func: str, returned: list[str], severity: Severity) -> None:
    (found,) = [d for d in findings(tmp_path, func) if d.code == "OPK101"]
    assert found.severity is severity
    assert all(name in found.message for name in returned)
    (older,) = [d for d in findings(tmp_path, func, torch_version="2.6") if d.code == "OPK101"]
    assert older.severity is Severity.ERROR


NOT_TAGGABLE = [
    "f_(Tensor(a!) x, Tensor(b!) y) -> Tensor(a!)",
    "f_(Tensor(a!) x, Tensor(b!) y) -> (Tensor(a!), Tensor(b!))",
    "f_(Tensor y, Tensor(a!) x) -> Tensor(a!)",
    "f_(Tensor(a!)[] x) -> Tensor(a!)[]",
    "f.out(Tensor q, *, Tensor(a!) x, Tensor(b!) y) -> Tensor(a!)",
    "f.out(Tensor q, *, Tensor(a!) x, Tensor(b!) y) -> (Tensor(b!), Tensor(a!))",
    "f.out(Tensor(c!) q, *, Tensor(a!) x) -> Tensor(a!)",
    "f.out(Tensor q, *, Tensor(a!)? x=None) -> Tensor(a!)",
    "f.out(Tensor q, *, Tensor(a!) x) -> (Tensor(a!), Tensor)",
]


@pytest.mark.parametrize("func", NOT_TAGGABLE)
def test_returned_argument_no_torch_accepts(tmp_path: Path, func: str) -> None:
    assert severities(findings(tmp_path, func))["OPK101"] is Severity.ERROR


@pytest.mark.parametrize(
    ("func", "tag"),
    [
        ("f_(Tensor(a!) x, Tensor y) -> Tensor(a!)", "inplace"),
        ("f.out(Tensor q, *, Tensor(a!) x, Tensor(b!) y) -> (Tensor(a!), Tensor(b!))", "out"),
    ],
)
def test_tagged_operators_are_right_from_torch_213_on(tmp_path: Path, func: str, tag: str) -> None:
    rest = f"    tags: [{tag}]\n"
    assert severities(findings(tmp_path, func))["OPK101"] is Severity.WARNING
    assert severities(findings(tmp_path, func, rest))["OPK101"] is Severity.NOTE
    assert "OPK101" not in severities(findings(tmp_path, func, rest, "2.13"))
    assert severities(findings(tmp_path, func, rest, "2.12"))["OPK101"] is Severity.ERROR


@pytest.mark.npu
@pytest.mark.parametrize("func", NOT_TAGGABLE)
def test_torch_refuses_the_tags(func: str) -> None:
    torch = pytest.importorskip("torch")
    if not hasattr(torch.Tag, "inplace"):
        pytest.skip("this torch has no tags for it")
    library = torch.library.Library("opkit_tags", "FRAGMENT")
    for tag in (torch.Tag.inplace, torch.Tag.out):
        with pytest.raises(ValueError, match="tagged"):
            library.define(func, tags=[tag])


def test_a_cache_operator_with_fresh_results_is_right(tmp_path: Path) -> None:
    func = (
        "npu_kv_rmsnorm_rope_cache_v2(Tensor kv, Tensor gamma, Tensor cos, Tensor sin, Tensor index, "
        "Tensor(a!) k_cache, Tensor(b!) ckv_cache, *, Tensor? k_rope_scale=None, float epsilon=1e-5, "
        "str cache_mode='Norm', bool is_output_kv=False) -> (Tensor, Tensor)"
    )
    assert set(severities(findings(tmp_path, func))) <= {"OPK103"}


@pytest.mark.parametrize(
    ("func", "rest", "fires"),
    [
        ("device_print(str msg) -> ()", "    side_effect: true\n", True),
        ("version() -> str", "", True),
        ("gen_mask(int[] size, float p, *, Device? device=None) -> Tensor", "", True),
        ("initialize(int seed) -> Tensor", "    dispatch: {CompositeExplicitAutograd: initialize}\n", False),
        ("metadata(int n, Tensor? x=None) -> Tensor", "", False),
    ],
)
def test_no_tensor(tmp_path: Path, func: str, rest: str, fires: bool) -> None:
    assert ("OPK104" in severities(findings(tmp_path, func, rest))) == fires


@pytest.mark.parametrize(
    ("default", "fires"),
    [
        ("ScalarType dst_type=291", True),
        ("ScalarType dst_type=39", True),
        ("int dst_dtype=291", False),
        ("int dst_type=24", False),
        ("ScalarType d=bfloat16", False),
        ("ScalarType d=float8_e4m3fn", False),
        ("ScalarType? d=None", False),
    ],
)
def test_dtype_numbers(tmp_path: Path, default: str, fires: bool) -> None:
    found = findings(tmp_path, f"f(Tensor x, *, {default}) -> ()", "    side_effect: true\n")
    assert ("OPK112" in severities(found)) == fires


@pytest.mark.parametrize(
    ("versions", "torch_version", "fires"),
    [
        ("acl_op: all_version", None, True),
        ("acl_op: all_version\n    op_api: [v2.9, newest]", None, False),
        ("acl_op: all_version\n    op_api: [v2.9, newest]", "2.8", True),
        ("acl_op: all_version\n    op_api: [v2.9, newest]", "2.13.0+cpu", False),
        ("op_api: all_version", None, False),
    ],
)
def test_aclop_only(tmp_path: Path, versions: str, torch_version: str | None, fires: bool) -> None:
    found = findings(tmp_path, "f(Tensor(a!) x) -> ()", f"    {versions}\n", torch_version)
    assert ("OPK109" in severities(found)) == fires


def test_mutable_list_and_optional_are_about_ge_only(tmp_path: Path) -> None:
    found = severities(findings(tmp_path, "f(Tensor(a!)[] x, Tensor(b!)? y=None) -> ()"))
    assert found == {"OPK302": Severity.WARNING, "OPK124": Severity.NOTE}


def test_functional_sibling(tmp_path: Path) -> None:
    sibling = (
        "    op_api: all_version\n  - func: f(Tensor[] x, Tensor y) -> Tensor[]\n    op_api: all_version\n"
    )
    found = findings(tmp_path, "f_(Tensor(a!)[] x, Tensor y) -> ()", sibling)
    assert "OPK302" not in severities(found)


def _both(gen_opapi: str, meta: str) -> list[Diagnostic]:
    text = (
        "custom:\n  - func: f(Tensor x, Tensor y) -> Tensor\n    op_api: all_version\n"
        f"    gen_opapi:\n      {gen_opapi}\n      exec: aclnnF\n    meta:\n      {meta}\n"
    )
    op_file, found = read_text(text, "ops.yaml")
    assert op_file is not None
    return [d for d in (*found, *check(op_file)) if d.code == "OPK119"]


def test_two_rules_that_differ_are_noted() -> None:
    (found,) = _both("out: {size: x, dtype: x}", "out: {size: '[x.size(0), 4]', dtype: x}")
    assert found.severity is Severity.NOTE
    assert "size `[x.shape[0], 4]` in `meta` and `x.shape` in `gen_opapi`" in found.message
    assert "dtype `y.dtype`" in _both("out: {size: x, dtype: x}", "out: {size: x, dtype: y}")[0].message


@pytest.mark.parametrize(
    ("gen_opapi", "meta"),
    [
        ("out: {size: x, dtype: x}", "y: {size: x.shape, dtype: x.dtype}"),
        ("out: {size: x, dtype: x}", "require: [[x.dim() == 2, two dims]]"),
        ("out: {size: unknown_size(x), dtype: x}", "out: {size: y, dtype: x}"),
        (
            "new_params: {n: x.size(0)}\n      out: {size: '{n}', dtype: x}",
            "out: {size: '[x.size(0)]', dtype: x}",
        ),
    ],
    ids=["written otherwise", "no rule of results", "not known to opkit", "a local name"],
)
def test_two_rules_that_agree_or_cannot_be_compared_are_not(gen_opapi: str, meta: str) -> None:
    assert _both(gen_opapi, meta) == []


@pytest.mark.parametrize(
    ("func", "twin"),
    [
        ("f_(Tensor(a!) self, Tensor y) -> Tensor(a!)", "f_(Tensor(a!) self, Tensor y) -> ()"),
        (
            "t::f.out(Tensor x, *, Tensor(a!) out, Tensor(b!) b) -> (Tensor(a!), Tensor(b!), Tensor c)",
            "t::f.out(Tensor x, *, Tensor(a!) out, Tensor(b!) b) -> (Tensor c)",
        ),
    ],
)
def test_the_twin_of_an_operator_that_returns_its_argument_is_spelled_out(func: str, twin: str) -> None:
    op_file, _ = read_text(f"custom:\n  - func: {func}\n", "ops.yaml")
    assert op_file is not None
    (found,) = [d for d in check(op_file) if d.code == "OPK101"]
    assert f"return only fresh results: {twin}" in found.help
    again, diagnostics = read_text(f"custom:\n  - func: {twin}\n", "ops.yaml")
    assert again is not None
    assert not [d for d in (*diagnostics, *check(again)) if d.code == "OPK101"]


GEN = "    op_api: all_version\n    gen_opapi: {out: {size: x, dtype: x}, exec: aclnnF}\n"


@pytest.mark.parametrize(
    ("func", "rest", "codes"),
    [
        ("f(Tensor(a) x) -> Tensor(a)", "    op_api: all_version\n", ["OPK101"]),
        ("f(Tensor(a!) x, Tensor y) -> Tensor[]", "", ["OPK106"]),
        ("f(Tensor(a!) x, int[2] p=[1,2,3], int[2] q=[]) -> ()", "", ["OPK112"]),
        ("f(Tensor x) -> Tensor", "    gen_opapi: aclnnF\n", ["OPK004"]),
        ("f(Tensor x) -> Tensor", GEN.replace("op_api: all", "acl_op: all", 1), ["OPK117"]),
        ("f(Tensor x) -> Tensor", GEN.replace("all_version", "v2.10", 1), ["OPK117"]),
        ("f(Tensor x) -> Tensor", GEN + "    meta: {require: [['x.dim() == 2', two dims]]}\n", []),
        ("f(Tensor x) -> Tensor", GEN + "    meta: {let: {n: x.dim()}, require: [['n == 2', no]]}\n", []),
        ("f(Tensor x) -> Tensor", "    meta: {require: [['x.dim() == 2', two dims]]}\n", ["OPK041"]),
        (
            "f(int n) -> Tensor",
            GEN.replace("size: x, dtype: x", "size: '{n}', dtype: at::kFloat"),
            ["OPK116"],
        ),
        ("f(Tensor x, Dimname d) -> ()", "    op_api: v2.13\n    side_effect: true\n", ["OPK012"]),
    ],
)
def test_one_mistake_is_one_finding(tmp_path: Path, func: str, rest: str, codes: list[str]) -> None:
    found = findings(tmp_path, func, rest)
    assert [d.code for d in found if d.severity is not Severity.NOTE] == codes, found


def test_a_rule_that_cannot_be_read_is_not_missing(tmp_path: Path) -> None:
    found = findings(tmp_path, "f(Tensor x) -> Tensor", "    gen_opapi: aclnnF\n")
    assert [d.code for d in found] == ["OPK004"]


@pytest.mark.parametrize(
    ("section", "func", "gen_opapi", "codes"),
    [
        ("autograd", "f(Tensor x) -> Tensor", "out: {size: x, dtype: x}, exec: aclnnF", ["OPK030"]),
        ("quant", "f(Tensor x) -> Tensor", "out: {size: x, dtype: x}, exec: aclnnF", ["OPK030"]),
        (
            "official",
            "f.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)",
            "exec: aclnnF, cpu_scalar_h2d: [x]",
            [],
        ),
        ("official", "f(Tensor x) -> ()", "exec: 'aclnnF, x'", []),
        ("official", "f(Tensor x) -> ()", "exec: aclnnF", ["OPK031"]),
        (
            "official",
            "f(Tensor x) -> (Tensor a, Tensor b)",
            "b: {size: x, dtype: x}, a: {size: x, dtype: x}, exec: aclnnF",
            ["OPK032"],
        ),
        (
            "official",
            "f(Tensor x) -> Tensor",
            "out: {size: x, dtype: x}, exec: aclnnF, cpu_scalar_op: [{param: zz, exec: aclnnG}]",
            ["OPK031"],
        ),
    ],
)
def test_what_the_generator_refuses(section: str, func: str, gen_opapi: str, codes: list[str]) -> None:
    text = f"{section}:\n  - func: {func}\n    op_api: all_version\n    gen_opapi: {{{gen_opapi}}}\n"
    op_file, found = read_text(text, "ops.yaml")
    assert op_file is not None
    assert [d.code for d in (*found, *check(op_file))] == codes


def test_what_stands_beside_structured_inherit_is_ignored() -> None:
    text = (
        "official:\n  - func: f(Tensor x) -> Tensor\n    op_api: all_version\n"
        "    gen_opapi: {structured_inherit: f.out, exec: aclnnF}\n"
        "  - func: f.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)\n    op_api: all_version\n"
        "    gen_opapi: {exec: aclnnF}\n"
    )
    _, (found,) = read_text(text, "ops.yaml")
    assert (found.code, found.severity) == ("OPK030", Severity.WARNING)
    assert "`exec` is ignored" in found.message


def test_a_structured_operator_takes_its_outputs_from_torch() -> None:
    entry = (
        "f.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)\n    op_api: all_version\n    structured: True\n"
    )
    text = f"official:\n  - func: {entry}    gen_opapi: {{exec: aclnnF, cpu_scalar_h2d: [x]}}\n"
    _, (found,) = read_text(text, "ops.yaml")
    assert found.code == "OPK030"
