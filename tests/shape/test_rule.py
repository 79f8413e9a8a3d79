"""Which rule gives each result."""

from __future__ import annotations

from declarations import op_file, operator, rule

from opkit.model.expression import Name
from opkit.shape import resolve
from opkit.shape.rule import Aliased, Fresh, Unresolved


def test_meta_wins_over_gen_opapi() -> None:
    resolved = rule("f(Tensor x, Tensor y) -> Tensor", "gen_opapi: {out: {size: x, dtype: x}, exec: aclnnF}",
                    "meta: {out: {size: y, dtype: y}}")  # fmt: skip
    output = resolved.outputs[0]
    assert isinstance(output, Fresh)
    assert isinstance(output.size, Name)
    assert output.size.name == "y"


def test_results_are_bound_by_position_not_by_name() -> None:
    resolved = rule("f(Tensor x, Tensor y) -> (Tensor a, Tensor b)",
                    "gen_opapi: {b: {size: x, dtype: x}, a: {size: y, dtype: y}, exec: aclnnF}")  # fmt: skip
    names = [o.size.name for o in resolved.outputs if isinstance(o, Fresh) and isinstance(o.size, Name)]
    assert names == ["x", "y"]


def test_written_arguments_the_schema_returns_need_no_rule() -> None:
    assert rule("f_(Tensor(a!) self, Tensor y) -> Tensor(a!)").outputs == (Aliased("self"),)
    resolved = rule("f.out(Tensor x, *, Tensor(a!) p, Tensor(b!) q) -> (Tensor(a!), Tensor(b!))")
    assert resolved.outputs == (Aliased("p"), Aliased("q"))


def test_a_fresh_result_beside_an_aliased_one_takes_the_only_rule() -> None:
    resolved = rule("f(Tensor(a!) x, Tensor y) -> (Tensor(a!), Tensor)", "meta: {out: {size: y, dtype: y}}")
    assert resolved.outputs[0] == Aliased("x")
    assert isinstance(resolved.outputs[1], Fresh)


def test_no_returns_need_no_rule() -> None:
    assert rule("f(Tensor(a!) x) -> ()").outputs == ()


def test_a_missing_rule_says_why() -> None:
    spec, file = operator("f(Tensor x) -> Tensor")
    found = resolve(spec, file)
    assert isinstance(found.outputs[0], Unresolved)
    assert found.diagnostics[0].message == (
        "no rule for the result of f: neither `meta` nor `gen_opapi` describes it"
    )
    assert found.diagnostics[0].operator == "f"


def test_a_view_is_not_described_by_size_and_dtype() -> None:
    spec, file = operator("f(Tensor(a) x) -> Tensor(a)")
    assert "view" in resolve(spec, file).diagnostics[0].message


INHERITING = """
custom:
  - func: f(Tensor x) -> Tensor
    op_api: all_version
    gen_opapi: {structured_inherit: f.mid}
  - func: f.mid(Tensor x) -> Tensor
    op_api: all_version
    gen_opapi: {structured_inherit: f.out}
  - func: f.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)
    op_api: all_version
    gen_opapi: {out: {size: x, dtype: x}, exec: aclnnF}
"""


def test_inheritance_is_followed_all_the_way_and_changes_nothing() -> None:
    file = op_file(INHERITING)
    for _ in range(2):
        for spec in file.operators:
            assert resolve(spec, file).usable


def test_inheritance_in_a_circle_and_from_nowhere_is_reported() -> None:
    from opkit.read import read_text

    circle = INHERITING.replace(
        "{out: {size: x, dtype: x}, exec: aclnnF}", "{structured_inherit: f.mid}"
    ).replace("f.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", "f.out(Tensor x) -> Tensor")
    file, _ = read_text(circle, "ops.yaml")
    assert file is not None
    assert "circle" in resolve(file.operators[0], file).diagnostics[0].message
    file, _ = read_text(
        INHERITING.replace("{structured_inherit: f.out}", "{structured_inherit: g.out}"), "ops.yaml"
    )
    assert file is not None
    assert "g.out" in resolve(file.operators[0], file).diagnostics[0].message
