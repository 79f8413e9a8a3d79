"""Parameters and defaults of hand-written functions beside the schema."""

from __future__ import annotations

from pathlib import Path

import pytest
from comparing import against, codes, declared, meta, underlined

SHIFTED = "f(Tensor x, Tensor ids, Tensor info, str group, int n, *, Tensor? mask=None, str alg='') -> Tensor"


@pytest.mark.parametrize(
    ("schema", "signature", "found"),
    [
        # As a call is made: positional by position, keyword-only by name, defaults left out.
        ("f(Tensor x, int n) -> Tensor", "x, n", []),
        ("f(Tensor x, int n) -> Tensor", "a, b", ["OPK224 note"]),
        ("f(Tensor self, int n) -> Tensor", "input, n", []),
        ("f(Tensor input, int n) -> Tensor", "self, n_", []),
        ("f(Tensor x, *, int n) -> Tensor", "x, n", []),
        ("f(Tensor x, *, int n=1) -> Tensor", "x, **options", []),
        ("f(Tensor x, int n) -> Tensor", "*args", []),
        ("f(Tensor x, int n=1) -> Tensor", "x, *rest", []),
        ("f(Tensor x, *, int n) -> Tensor", "*args, **kwargs", []),
        ("f(Tensor x, int n) -> Tensor", "x, n, /", []),
        ("f() -> Tensor", "", []),
        # What raises, or gives a value to the wrong parameter.
        ("f(Tensor x, int n) -> Tensor", "x", ["OPK221 error"]),
        ("f(Tensor x, int n) -> Tensor", "", ["OPK221 error"]),
        ("f(Tensor x) -> Tensor", "x, n", ["OPK221 error"]),
        ("f(Tensor x) -> Tensor", "x, *, n", ["OPK221 error"]),
        ("f(Tensor x, int n) -> Tensor", "x, *, n", ["OPK221 error"]),
        ("f(Tensor x, *, int n) -> Tensor", "x, *, k", ["OPK221 error"]),
        ("f(Tensor x, *, int n=1) -> Tensor", "x", ["OPK221 error"]),
        ("f(Tensor x, Tensor y, *, int n) -> Tensor", "x, n, y", ["OPK221 error"]),
        (SHIFTED, "x, ids, group, n, *, mask=None, alg=''", ["OPK221 error"]),
        # What nothing is ever given to, and what has changed places.
        ("f(Tensor x) -> Tensor", "x, n=1", ["OPK221 warning"]),
        ("f(Tensor x) -> Tensor", "x, *, n=1", ["OPK221 warning"]),
        ("f(Tensor x, Tensor y, int n) -> Tensor", "y, x, n", ["OPK221 warning"]),
        ("f(Tensor self, Tensor x1, int n) -> Tensor", "x1, x2, n", ["OPK224 note"]),
        # Defaults.
        ("f(Tensor x, Tensor? mask=None) -> Tensor", "x, mask=None", []),
        ("f(Tensor x, Tensor? mask=None) -> Tensor", "x, mask", ["OPK222 error"]),
        ("f(Tensor x, int n=1, int k=2) -> Tensor", "x, n, k", ["OPK222 error"]),
        ("f(Tensor x, *, int n=1) -> Tensor", "x, *, n", ["OPK222 error"]),
        ("f(Tensor x, int n) -> Tensor", "x, n=3", []),
    ],
)
def test_parameters(tmp_path: Path, schema: str, signature: str, found: list[str]) -> None:
    assert codes(meta(tmp_path, schema, signature)) == found


@pytest.mark.parametrize(
    ("argument", "python", "found"),
    [
        ("str s='BSND'", "'BSND'", None),
        ('str s="BSND"', "'BSND'", None),
        ("str s='BSND'", "'BSH'", "error"),
        ("str s='BSND'", "1", "error"),
        ("str s=''", "None", "error"),
        ("float s=1e-6", "0.000001", None),
        ("float s=1e-5", "1e-4", "error"),
        ("float s=1.", "1", "note"),
        ("float s=1", "1.0", None),
        ("int s=1", "1.0", "warning"),
        ("int s=1", "True", "note"),
        ("bool s=True", "True", None),
        ("bool s=True", "1", "note"),
        ("bool s=True", "False", "error"),
        ("int s=-2", "-2", None),
        ("int s=-2", "2", "error"),
        ("int? s=None", "None", None),
        ("int? s=None", "0", "error"),
        ("int s=Mean", "1", None),
        ("int s=Mean", "'mean'", "error"),
        ("int[2] s=1", "(1, 1)", None),
        ("int[2] s=1", "[1, 1]", None),
        ("int[2] s=1", "1", "error"),
        ("int[2] s=[1,2]", "[1, 1]", "error"),
        ("int[] s=[]", "()", None),
        ("float[2] s=[1.,2.]", "[1, 2.]", "note"),
        ("ScalarType s=float", "torch.float32", None),
        ("ScalarType s=float", "torch.float", None),
        ("ScalarType s=float", "torch.half", "error"),
        ("ScalarType s=float", "6", "error"),
        ("ScalarType? s=None", "torch.int8", "error"),
        ("MemoryFormat s=contiguous_format", "torch.contiguous_format", None),
        ("int s=2147483647", "LIMIT", None),
        ("int s=2147483646", "LIMIT", "error"),
        ("int s=1", "computed()", None),
    ],
)
def test_defaults(tmp_path: Path, argument: str, python: str, found: str | None) -> None:
    code = f"""\
import torch
from torch.library import Library, impl
LIMIT = 2147483647
m = Library("npu", "IMPL", "Meta")
@impl(m, "f")
def f(x, s={python}):
    raise ValueError
"""
    diagnostics = against(tmp_path, f"f(Tensor x, {argument}) -> Tensor", code)
    assert codes(diagnostics) == ([] if found is None else [f"OPK223 {found}"])
    if diagnostics:
        assert underlined(diagnostics[0]) == python


def test_a_default_that_is_set_in_the_body_is_the_same(tmp_path: Path) -> None:
    schema = "f(Tensor x, int[2] d=[1,1]) -> Tensor"
    body = "if d is None:\n    d = [1, {}]\nraise ValueError"
    assert codes(meta(tmp_path, schema, "x, d=None", body.format(1))) == []
    assert codes(meta(tmp_path, schema, "x, d=None", body.format(2))) == ["OPK223 error"]


def test_messages_name_the_place_and_the_repair(tmp_path: Path) -> None:
    (found,) = meta(tmp_path, SHIFTED, "x, ids, group, n, *, mask=None, alg=''")
    assert "argument 3, `info`, is missing, which shifts those after it" in found.message
    assert found.help.endswith("x, ids, info, group, n, *, mask, alg")
    assert underlined(found) == "f"
    assert found.operator == "f"
    ((text, mark),) = found.related
    assert (text, mark.file, mark.line) == ("the schema", "ops.yaml", 2)

    (found,) = meta(tmp_path, "f(Tensor x, int dim=-1, int k=1) -> Tensor", "x, dim, k")
    assert "requires `dim`, `k`" in found.message
    assert found.help == "give them defaults: dim=-1, k=1"
    assert underlined(found) == "dim"


def test_several_out_arguments_are_one_list(tmp_path: Path) -> None:
    schema = "f.out(Tensor g, *, Tensor(a!) m, Tensor(b!) v) -> (Tensor(a!), Tensor(b!)){}"
    built, plain = schema.format("\nop_api: all_version"), schema.format("")
    code = """\
from torch.library import Library, impl
m = Library("npu", "IMPL", "Meta")
@impl(m, "f.out")
def f(g, *, {}):
    raise ValueError
"""
    # torch_npu's generator registers the first form; an operator nobody generates keeps its schema.
    assert codes(against(tmp_path, built, code.format("out"))) == []
    assert codes(against(tmp_path, built, code.format("m, v"))) == ["OPK221 error"]
    assert codes(against(tmp_path, plain, code.format("m, v"))) == []
    assert codes(against(tmp_path, plain, code.format("out"))) == ["OPK221 error"]


def test_one_of_several_declarations_is_enough(tmp_path: Path) -> None:
    two = declared(
        "f(Tensor x) -> Tensor\nop_api: [v2.1, v2.6]", "f(Tensor x, int n) -> Tensor\nop_api: [v2.7, newest]"
    )
    code = """\
from torch.library import Library, impl
m = Library("npu", "IMPL", "Meta")
@impl(m, "f")
def f({}):
    raise ValueError
"""
    assert codes(against(tmp_path, two, code.format("x"))) == []
    assert codes(against(tmp_path, two, code.format("x, n"))) == []
    assert codes(against(tmp_path, two, code.format("x, n, k"))) == ["OPK221 error"]


def test_a_converter_chooses_a_value_for_none(tmp_path: Path) -> None:
    code = """\
import torch
from torchair import register_fx_node_ge_converter

@register_fx_node_ge_converter(torch.ops.npu.f.default)
def convert(x, mode={}, *, eps=1e-4, meta_outputs=None):
    return ge.F(x, mode=mode, eps=eps)
"""
    schema = "f(Tensor x, int? mode=None, *, float eps=1e-5) -> Tensor"
    found = against(tmp_path, schema, code.format("7"))
    assert codes(found) == ["OPK223 warning", "OPK223 error", "OPK233 error"]
    assert "eps" in found[1].message
    assert "`ge`" in found[2].message
