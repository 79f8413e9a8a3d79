"""`gen_opapi`, `meta`, `ge` and entry points."""

from __future__ import annotations

from pathlib import Path

import pytest

from opkit.model.diagnostic import Diagnostic
from opkit.model.operator import OpSpec
from opkit.read import read_text


def text_of(body: str, func: str = "f(Tensor x, Tensor? y, Tensor[] z, int n) -> Tensor") -> str:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return f"custom:\n  - func: {func}\n{lines}\n"


def read(body: str, func: str = "f(Tensor x, Tensor? y, Tensor[] z, int n) -> Tensor") -> OpSpec:
    op_file, diagnostics = read_text(text_of(body, func), "ops.yaml")
    assert op_file is not None
    assert diagnostics == ()
    return op_file.operators[0]


def finding(body: str, func: str = "f(Tensor x, Tensor? y, Tensor[] z, int n) -> Tensor") -> Diagnostic:
    _, diagnostics = read_text(text_of(body, func), "ops.yaml")
    (found,) = diagnostics
    return found


def underlined(body: str, found: Diagnostic) -> str:
    assert found.mark is not None
    line = text_of(body).split("\n")[found.mark.line - 1]
    return line[found.mark.column - 1 :][: found.mark.length]


def gen(size: str = "x", dtype: str = "x", executed: str = "aclnnF") -> str:
    return f"gen_opapi:\n  out: {{size: {size}, dtype: {dtype}}}\n  exec: {executed}"


@pytest.mark.parametrize(
    "body",
    [
        gen(),
        gen("'{x.size(0), n, 8L}'", "at::kFloat"),
        gen("'z[0]'", "'z[0]'"),
        gen("'broadcast_ops_npu_output_size(x, z[0])'", "'at::native::result_type(x, z[0])'"),
        gen(executed="aclnnF, x, y, out"),
        "gen_opapi:\n  new_params: {m: 1L, k: m + n}\n  out: {size: '{k}', dtype: x}\n  exec: aclnnF, m, out",
        "gen_opapi:\n  out: {size: x, dtype: x, name: 'self, other'}\n  exec: aclnnF",
    ],
)
def test_gen_opapi(body: str) -> None:
    rule = read(body).gen_opapi
    assert rule is not None
    assert len(rule.outputs) == 1


@pytest.mark.parametrize(
    ("body", "code", "place", "help_"),
    [
        (gen("xx"), "OPK202", "xx", "'x'"),
        (gen("'{w.size(0)}'"), "OPK202", "w", "arguments: x"),
        (gen("y"), "OPK022", "y", "has_value"),
        (gen("z"), "OPK022", "z", "z[0]"),
        (gen("'x.size(0'"), "OPK020", "'", ""),
        (gen("'my_helper(x)'"), "OPK203", "my_helper", "meta"),
        (gen("'broadcast_ops_npu_output_siz(x, x)'"), "OPK203", "broadcast_ops_npu_output_siz", "_size"),
        (gen("{x.size(0), 8}"), "OPK030", "{x.size(0), 8}", "'{x.size(0), 8}'"),
        (gen("", "x"), "OPK030", "", ""),
        (gen(executed="aclnnF, x, 1, out"), "OPK031", "1", "new_params"),
        (gen(executed="aclnnF, xx, out"), "OPK031", "xx", "'x'"),
        (gen(executed="aclF"), "OPK031", "aclF", "aclnn"),
        ("gen_opapi:\n  out: {size: x, dtype: x}", "OPK031", "out: {size: x, dtype: x}", "exec"),
        ("gen_opapi:\n  out: {size: x, dtyp: x}\n  exec: aclnnF", "OPK030", "dtyp", "dtype"),
        ("gen_opapi:\n  out: {size: x}\n  exec: aclnnF", "OPK032", "out", "dtype"),
        ("gen_opapi:\n  out: x\n  exec: aclnnF", "OPK030", "out", ""),
        ("gen_opapi: x", "OPK004", "x", ""),
        ("gen_opapi:\n  exce: aclnnF\n  out: {size: x, dtype: x}\n  exec: aclnnF", "OPK030", "exce", "exec"),
        (gen() + "\n  cpu_scalar_h2d: [w]", "OPK031", "w", ""),
    ],
)
def test_gen_opapi_mistakes(body: str, code: str, place: str, help_: str) -> None:
    _, diagnostics = read_text(text_of(body), "ops.yaml")
    found = next(d for d in diagnostics if d.code == code)
    assert help_ in found.help
    if place:
        assert underlined(body, found) == place


@pytest.mark.parametrize(
    ("func", "body", "codes"),
    [
        ("f(Tensor x) -> (Tensor, Tensor)", gen(), ["OPK032"]),
        ("f(Tensor x) -> ()", gen(), ["OPK032"]),
        ("f(Tensor x) -> ()", "gen_opapi: {exec: 'aclnnF, x'}", []),
        ("f_(Tensor(a!) x) -> Tensor(a!)", "gen_opapi: {exec: aclnnF}", []),
        ("f.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", "gen_opapi: {exec: aclnnF}", []),
        ("f.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", gen(dtype="out"), []),
        ("f.out(Tensor x, *, Tensor(a!) o) -> Tensor(a!)", gen(), ["OPK032"]),
        ("f(Tensor(a!) x, Tensor y) -> Tensor", gen("y", "y"), []),
        ("f(Tensor(a!) x, Tensor y) -> Tensor", "gen_opapi: {exec: aclnnF}", ["OPK032"]),
        ("f(Tensor x) -> Tensor", gen() + "\nstructured: true", ["OPK030"]),
        ("f(Tensor x) -> Tensor", gen() + "\nstructured_delegate: f.out", ["OPK030"]),
    ],
)
def test_results_against_schema(func: str, body: str, codes: list[str]) -> None:
    assert [d.code for d in read_text(text_of(body, func), "ops.yaml")[1]] == codes


def test_meta() -> None:
    op = read(
        "meta:\n"
        "  let: {k: x.size(-1), half: k // 2}\n"
        '  require: [[k % 2 == 0, "last dim must be even, got {k}"], [n > 0, "n, not {n}"]]\n'
        '  out: {size: "set(x.shape, -1, half)", dtype: x.dtype}\n'
    )
    assert op.meta is not None
    assert [name for name, _ in op.meta.let] == ["k", "half"]
    assert [r.message for r in op.meta.require] == ["last dim must be even, got {k}", "n, not {n}"]
    assert op.meta.outputs[0].name == "out"


@pytest.mark.parametrize(
    "body",
    [
        "meta: {out: {size: [x.size(0), 'max(n, 2)'], dtype: float32}}",
        "meta: {out: {size: '[max(n, 2)]', dtype: 'torch.float32'}}",
        "meta: {require: [n > 0, 'positive'], out: {size: x, dtype: x}}",
        "meta: {require: [n > 0], out: {size: x, dtype: x}}",
        "meta: {python: 'pkg.mod:fn'}",
        "meta: {python: 'meta/kernel.py:fn'}",
    ],
)
def test_meta_forms(body: str) -> None:
    assert read(body).meta is not None


@pytest.mark.parametrize(
    ("body", "code", "place"),
    [
        ("meta: x", "OPK004", "x"),
        ("meta: {out: x}", "OPK041", "out"),
        ("meta: {out: {size: x}}", "OPK041", "out"),
        ("meta: {out: {size: x, dtype: x, name: x}}", "OPK041", "name"),
        ("meta: {out: {size: w, dtype: x}}", "OPK202", "w"),
        ("meta: {out: {size: 'f(x)', dtype: x}}", "OPK203", "f"),
        ("meta: {out: {size: 'n / 2', dtype: x}}", "OPK020", "n / 2"),
        ("meta: {let: {x: n}, out: {size: x, dtype: x}}", "OPK041", "x"),
        ("meta: {let: {k: j, j: n}, out: {size: x, dtype: x}}", "OPK202", "j"),
        ("meta: {require: n, out: {size: x, dtype: x}}", "OPK041", "n"),
        ("meta: {require: [[n, 'm', 'o']], out: {size: x, dtype: x}}", "OPK041", "[n, 'm', 'o']"),
        ("meta: {require: [[n, 'is {m}']], out: {size: x, dtype: x}}", "OPK041", "m"),
        ("meta: {a: {size: x, dtype: x}, b: {size: x, dtype: x}}", "OPK041", ""),
        ("meta: {python: 'pkg.mod:fn', out: {size: x, dtype: x}}", "OPK041", "out"),
        ("meta: {python: fn}", "OPK040", "fn"),
        ("meta: {python: 'a b:fn'}", "OPK040", "a b:fn"),
        ("reference: 'ref.py'", "OPK040", "ref.py"),
        ("kernel: [a]", "OPK004", "[a]"),
        ("ge: {irr: X}", "OPK042", "irr"),
        ("ge: {ir: my op}", "OPK042", "my op"),
        ("ge: X", "OPK004", "X"),
    ],
)
def test_meta_and_ge_mistakes(body: str, code: str, place: str) -> None:
    found = finding(body)
    assert found.code == code
    if place:
        assert underlined(body, found) == place


def test_meta_needs_no_rule_for_returned_arguments() -> None:
    func = "f(Tensor(a!) x, Tensor y) -> (Tensor(a!), Tensor)"
    assert read("meta: {out: {size: y, dtype: y}}", func).meta is not None


def test_prototype_is_read_beside_the_yaml(tmp_path: Path) -> None:
    (tmp_path / "op.json").write_text('[{"op": "MyOp", "input_desc": [{"name": "x"}]}]', encoding="utf-8")
    text = text_of("ge: {prototype: op.json}", "my_op(Tensor x) -> ()")
    op_file, diagnostics = read_text(text, tmp_path / "ops.yaml")
    assert diagnostics == ()
    assert op_file is not None
    assert op_file.operators[0].ge is not None
    assert [p.op for p in op_file.operators[0].ge.prototypes] == ["MyOp"]
    assert [d.code for d in read_text(text, tmp_path / "elsewhere" / "ops.yaml")[1]] == ["OPK050"]


def test_ge_and_entry_points() -> None:
    op = read(
        "ge: {ir: MyOp, converter: 'c.py:convert'}\nreference: pkg.ref:fn\nkernel: k.py:fn\nside_effect: true"
    )
    assert op.ge is not None
    assert (op.ge.ir, op.ge.prototype, str(op.ge.converter)) == ("MyOp", None, "c.py:convert")
    assert str(op.reference) == "pkg.ref:fn"
    assert str(op.kernel) == "k.py:fn"
    assert op.side_effect is True


@pytest.mark.parametrize(
    ("message", "place", "reason"),
    [
        ("n is {m}", "m", "`m`, which is no argument or binding"),
        ("n is {m.dtype}", "m.dtype", "`m`, which is no argument or binding"),
        ("n is {x.size(0)}", "x.size(0)", "`{x.size(0)}` in it, which is no name"),
        ("n is {}", '"n is {}"', "`{}` in it, which is no name"),
        ("n is {n", '"n is {n"', "bad brace"),
    ],
)
def test_braces_of_a_message(message: str, place: str, reason: str) -> None:
    body = f'meta:\n  require: [[n > 1, "{message}"]]\n  out: {{size: x, dtype: x}}'
    found = finding(body)
    assert found.code == "OPK041"
    assert reason in found.message
    assert underlined(body, found).strip('"') == place.strip('"')


def test_a_message_may_name_attributes() -> None:
    read('meta:\n  require: [[n > 1, "{x.shape} {n} {{ }}"]]\n  out: {size: x, dtype: x}')
