"""Meta kernels that return views, converters that torchair calls by name, names of another overload."""

from __future__ import annotations

from pathlib import Path

import pytest
from comparing import HEAD, against, codes, meta

CONVERTER = """\
import torch
from torch_npu.dynamo.torchair import register_fx_node_ge_converter, ge
@register_fx_node_ge_converter(torch.ops.npu.f.default)
def f({}):
    return ge.custom_op("F")
"""


@pytest.mark.parametrize(
    "body", ["return x.view(-1)", "return x.t().unsqueeze(0)", "y = x.transpose(0, 1)\nreturn y"]
)
def test_a_view_is_no_fresh_result(tmp_path: Path, body: str) -> None:
    assert codes(meta(tmp_path, "f(Tensor x) -> Tensor", "x", body)) == ["OPK231 error"]
    assert codes(meta(tmp_path, "f(Tensor(a) x) -> Tensor(a)", "x", body)) == []


@pytest.mark.parametrize(
    "body", ["return x.clone().view(-1)", "x = x.clone()\nreturn x.t()", "return x.new_empty(2)"]
)
def test_a_view_of_a_new_tensor_is(tmp_path: Path, body: str) -> None:
    assert codes(meta(tmp_path, "f(Tensor x) -> Tensor", "x", body)) == []


@pytest.mark.parametrize(
    ("parameters", "found"),
    [
        ("x, n=2, meta_outputs=None", []),
        ("y, n=2, meta_outputs=None", ["OPK221 error"]),
        ("x, n=2, *, meta_outputs", ["OPK222 error"]),
    ],
)
def test_a_converter_is_called_by_name_where_an_argument_is_written(
    tmp_path: Path, parameters: str, found: list[str]
) -> None:
    code = CONVERTER.format(parameters)
    assert codes(against(tmp_path, "f(Tensor(a!) x, int n=2) -> ()", code)) == found
    # Otherwise by position, and with `meta_outputs` if it wants that.
    errors = [c for c in codes(against(tmp_path, "f(Tensor x, int n=2) -> Tensor", code)) if "note" not in c]
    assert errors == []


def test_a_name_without_the_overload_is_another_operator(tmp_path: Path) -> None:
    code = HEAD + '@impl(m, "f")\ndef f(x, *, out): return None\n'
    assert codes(against(tmp_path, "f.out(Tensor x, *, Tensor(a!) out) -> ()", code)) == ["OPK226 warning"]
    assert codes(against(tmp_path, "g.out(Tensor x, *, Tensor(a!) out) -> ()", code)) == ["OPK226 note"]
    code = code.replace('"f"', '"f.out"')
    assert codes(against(tmp_path, "f.out(Tensor x, *, Tensor(a!) out) -> ()", code)) == []
