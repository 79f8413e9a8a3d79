"""Rule expressions as Python, and the diagnostics for those that mean nothing."""

from __future__ import annotations

import pytest
from declarations import operator, rule

from opkit.model.diagnostic import Mark
from opkit.read import parse_expression
from opkit.shape import Environment, Scope, print_python, resolve
from opkit.shape.errors import RuleError
from opkit.shape.helpers import HELPERS
from opkit.shape.source import library_names

MARK = Mark("ops.yaml", 1, 1)
FUNC = (
    "f(Tensor x, Tensor? y, Tensor[] z, int n, int? m, int[] dims, bool flag, str mode, ScalarType t, "
    "Tensor other, Tensor? probs) -> Tensor"
)


def python(
    text: str, want: str = "value", dialect: str = "cpp", environment: Environment | None = None
) -> str:
    spec, _ = operator(FUNC, "meta: {out: {size: x, dtype: x}}")
    expression, diagnostics = parse_expression(text, MARK, dialect)
    assert expression is not None, diagnostics
    return print_python(expression, Scope.of_arguments(spec.schema.arguments, environment=environment), want)


@pytest.mark.parametrize(
    ("text", "want", "expected"),
    [
        ("x", "shape", "x.shape"),
        ("x", "dtype", "x.dtype"),
        ("z[0]", "shape", "z[0].shape"),
        ("{x.size(0), x.size(-1) * 2, 8L}", "shape", "[x.shape[0], x.shape[-1] * 2, 8]"),
        ("c10::SmallVector<int64_t, op_infer::SIZE>{x.size(1)}", "shape", "[x.shape[1]]"),
        ("at::ArrayRef<int64_t>()", "shape", "[]"),
        ("x.size(0) - (n - 1)", "value", "x.shape[0] - (n - 1)"),
        ("(x.size(0) + n) / 2", "value", "(x.shape[0] + n) // 2"),
        ("broadcast_ops_npu_output_size(x, other)", "shape", "torch.broadcast_shapes(x.shape, other.shape)"),
        ("op_infer::cdist_npu_output_size(x, other)", "shape", "cdist_shape(x.shape, other.shape)"),
        ("reduce_ops_npu_output_size(x, {n}, flag)", "shape", "reduce_dims(x.shape, [n], flag)"),
        ("rms_norm_npu_output_size(x, other)[1]", "shape", "rms_norm_shapes(x.shape, other.shape)[1]"),
        ("at::kFloat", "dtype", "torch.float32"),
        ("at::native::result_type(x, other)", "dtype", "torch.result_type(x, other)"),
        ("promoteTypes(x.scalar_type(), at::kHalf)", "dtype", "torch.promote_types(x.dtype, torch.float16)"),
        ("isIntegralType(x.scalar_type(), true) ? at::kFloat : x.scalar_type()", "dtype",
         "torch.float32 if is_integral(x.dtype, True) else x.dtype"),
        ("probs.has_value() && probs->defined() ? probs->scalar_type() : x.scalar_type()", "dtype",
         "probs.dtype if probs is not None else x.dtype"),
        ("!m.has_value()", "value", "m is None"),
        ("m.value_or(0)", "value", "0 if m is None else m"),
        ("clamp_npu_output_size(x, y, other)", "shape",
         "broadcast_present(x.shape, None if y is None else y.shape, other.shape)"),
    ],
)  # fmt: skip
def test_cpp_prints_as_readable_python(text: str, want: str, expected: str) -> None:
    assert python(text, want) == expected


@pytest.mark.parametrize(
    ("text", "want", "expected"),
    [
        ("set(x.shape, -1, n // 2)", "shape", "set_dim(x.shape, -1, n // 2)"),
        ("x.shape[:-1] + [n]", "shape", "[*x.shape[:-1], n]"),
        ("x.shape[1:]", "shape", "x.shape[1:]"),
        ("x.dtype if present(y) else float32", "dtype", "x.dtype if y is not None else torch.float32"),
        ("ceildiv(x.size(0), n) if mode == 'BSH' else n", "value",
         "ceildiv(x.shape[0], n) if mode == 'BSH' else n"),
        ("matmul_shape(x, other)", "shape", "matmul_shape(x.shape, other.shape)"),
        ("dtype_from_int(n)", "dtype", "dtype_from_int(n)"),
        ("packed_dim(x.size(-1), n)", "value", "packed_dim(x.shape[-1], n)"),
        ("match(mode, 'a', n, 'b', 2, 3)", "value", "n if mode == 'a' else 2 if mode == 'b' else 3"),
        ("match(mode, 'a', x, float32)", "dtype", "x.dtype if mode == 'a' else torch.float32"),
        ("[2 * s for s in x.shape]", "shape", "[2 * s for s in x.shape]"),
        ("sum([s // 2 for s in x.shape])", "value", "sum([s // 2 for s in x.shape])"),
        ("x.element_size() == 1", "value", "x.element_size() == 1"),
        ("x.shape == other.shape", "value", "x.shape == other.shape"),
        ("x.shape == other.shape[:-1] + [n]", "value", "x.shape == tuple([*other.shape[:-1], n])"),
    ],
)  # fmt: skip
def test_the_meta_dialect_prints_the_same_tree(text: str, want: str, expected: str) -> None:
    assert python(text, want, "python") == expected


@pytest.mark.parametrize(
    ("text", "want", "code", "part"),
    [
        ("oter", "shape", "OPK202", "did you mean 'other'"),
        ("brodcast(x, other)", "shape", "OPK203", "did you mean 'broadcast'"),
        ("npu_mystery_out_size(x)", "shape", "OPK203", "npu_mystery_out_size"),
        ("cdist_npu_output_size(x)", "shape", "OPK204", "takes 2 argument"),
        ("x.size(0)", "shape", "OPK206", "a shape is needed"),
        ("{x.sizes(), x.sizes()}", "shape", "OPK206", "an item of a size is a number, `x.shape` is not one"),
        ("{2, x}", "shape", "OPK206", "a result of its own for each of its tensors"),
        ("n", "dtype", "OPK206", "dtype_from_int"),
        ("x.stuff()", "value", "OPK202", "has no `stuff`"),
        ("is_gte_cann_version_820rc1() ? x : other", "shape", "OPK207", "--cann-version"),
    ],
)
def test_what_means_nothing_is_named_and_never_guessed(text: str, want: str, code: str, part: str) -> None:
    with pytest.raises(RuleError) as caught:
        python(text, want)
    diagnostic = caught.value.diagnostic
    assert diagnostic.code == code
    assert part in f"{diagnostic.message} {diagnostic.help}"


@pytest.mark.parametrize(
    ("text", "want", "ok"),
    [
        ("y", "shape", False),
        ("y.size(0)", "value", False),
        ("m + 1", "value", False),
        ("[m, 2]", "shape", False),
        ("m + 1 if present(m) else n", "value", True),
        ("m + 1 if m is not None and m > 0 else n", "value", True),
        ("n if not present(m) or flag else m + 1", "value", True),
        ("n if flag or m is None else m", "value", True),
        ("m if m is None else n", "shape", False),
        ("y.dtype if present(probs) else x.dtype", "dtype", False),
        ("x.shape if flag else None", "shape", False),
    ],
)
def test_what_may_be_none_is_only_used_where_it_is_not(text: str, want: str, ok: bool) -> None:
    if ok:
        assert python(text, want, "python")
    else:
        with pytest.raises(RuleError) as caught:
            python(text, want, "python")
        assert caught.value.diagnostic.code == "OPK206"


def test_min_and_max_leave_no_guard() -> None:
    assert python("std::min(n, x.size(0))") == "torch.sym_min(n, x.shape[0])"
    assert python("max(dims)", dialect="python") == "max(dims)"


def test_the_environment_is_an_input() -> None:
    text = "is_gte_cann_version_820rc1() ? x : other"
    assert python(text, "shape", environment=Environment(cann_version="8.2.RC1")) == "x.shape"
    assert python(text, "shape", environment=Environment(cann_version="8.1.RC1")) == "other.shape"


def test_every_helper_names_python_that_exists() -> None:
    functions = library_names()
    missing = [h.name for h in HELPERS.values() if h.python and h.is_library and h.python not in functions]
    assert not missing


def test_bindings_that_only_feed_the_kernel_call_are_left_out() -> None:
    resolved = rule(
        "f(Tensor x, str mode) -> Tensor",
        "gen_opapi:",
        "  new_params: {ptr: 'const_cast<char *>(mode.data())', half: 'x.size(0) / 2', twice: 'half * 2'}",
        "  out: {size: '{twice}', dtype: x}",
        "  exec: aclnnF, x, ptr, out",
    )
    assert [name for name, _ in resolved.bindings] == ["half", "twice"]


def test_a_rule_reports_all_its_mistakes_at_once() -> None:
    spec, file = operator(
        "f(Tensor x) -> (Tensor, Tensor)", "meta: {a: {size: x, dtype: x}, b: {size: x, dtype: x}}"
    )
    assert resolve(spec, file).usable
    spec, file = operator("f(Tensor x) -> (Tensor, Tensor[])")
    codes = [d.code for d in resolve(spec, file).diagnostics]
    assert codes == ["OPK201", "OPK201"]
