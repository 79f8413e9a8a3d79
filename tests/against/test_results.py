"""What hand-written functions return beside the schema's results."""

from __future__ import annotations

from pathlib import Path

import pytest
from comparing import against, codes, meta, underlined

ONE = "f(Tensor x) -> Tensor"
TWO = "f(Tensor x) -> (Tensor, Tensor)"
NONE = "f(Tensor(a!) x) -> ()"
LIST = "f(Tensor[] xs) -> Tensor[]"
E = "torch.empty_like(x)"


@pytest.mark.parametrize(
    ("schema", "body", "found"),
    [
        (ONE, f"return {E}", None),
        (ONE, f"return {E}, {E}", "a tuple of 2, the schema has 1 result"),
        (ONE, f"return ({E},)", "a tuple of 1, the schema has 1 result"),
        ("f(Tensor x) -> (Tensor out)", f"return ({E},)", "a tuple of 1"),
        (ONE, f"y = {E}\nz = y, y\nreturn z", "a tuple of 2"),
        (ONE, f"return {E} if x.dim() else ({E}, {E})", "a tuple of 2"),
        (ONE, "return helper(x)", None),
        (ONE, "return", "nothing, the schema has 1 result"),
        (ONE, "pass", "nothing, the schema has 1 result"),
        (ONE, "raise NotImplementedError", None),
        (ONE, "...", None),
        (TWO, f"return {E}, {E}", None),
        (TWO, f"return [{E}, {E}]", None),
        (TWO, f"return {E}, None", None),
        (TWO, f"return {E}", "one value, the schema has 2 results"),
        (TWO, f"y = {E}\nreturn y", "one value"),
        (TWO, f"return {E}, {E}, {E}", "3 values, the schema has 2 results"),
        (TWO, f"return (*helper(x), {E})", None),
        (TWO, "return (*helper(x),)", None),
        (TWO, "out = [x.new_empty(2)]\nout += [x.new_empty(1)]\nreturn out", None),
        (NONE, "return", None),
        (NONE, "return None", None),
        (NONE, "x.zero_()", None),
        (NONE, f"return {E}", "a value, the schema returns ()"),
        (NONE, "return x", "a value, the schema returns ()"),
        (NONE, "return helper(x)", None),
        ("f(Tensor(a!)[] xs) -> ()", "return xs", "a list, the schema returns ()"),
        (LIST, "return [torch.empty_like(x) for x in xs]", None),
        (LIST, f"x = xs[0]\nreturn [{E}]", None),
        (LIST, f"x = xs[0]\nreturn {E}", "a value that is no list"),
        ("f(Tensor[] xs) -> Tensor", "return xs", "a list"),
    ],
)
def test_count(tmp_path: Path, schema: str, body: str, found: str | None) -> None:
    parameter = "xs" if "xs" in schema else "x"
    diagnostics = [d for d in meta(tmp_path, schema, parameter, body) if d.code == "OPK225"]
    assert len(diagnostics) == (found is not None)
    if found is not None:
        assert f"returns {found}" in diagnostics[0].message


@pytest.mark.parametrize(
    ("schema", "parameters", "body", "found"),
    [
        ("f(Tensor q, Tensor k) -> (Tensor, Tensor)", "q, k", "return q, k", ["q", "k"]),
        ("f(Tensor q, Tensor k) -> (Tensor, Tensor)", "q, k", "a = k\nout = a\nreturn q.clone(), out", ["k"]),
        ("f(Tensor x) -> Tensor", "x", "x, y = torch.max(x, 0)\nreturn x", []),
        ("f(Tensor x) -> Tensor", "y", "return y", ["y"]),
        ("f(Tensor x) -> Tensor", "x", "x = torch.empty_like(x)\nreturn x", []),
        ("f(Tensor x) -> Tensor", "x", "if x.dim():\n    return x\nreturn x.clone()", ["x"]),
        ("f(Tensor x, int n) -> (Tensor, int)", "x, n", "return x.clone(), n", []),
        ("f(Tensor(a!) x) -> Tensor(a!)", "x", "return x", []),
        ("f(Tensor(a!) x) -> Tensor(a!)", "x", "return torch.empty_like(x)", ["torch.empty_like(x)"]),
        ("f(Tensor(a!) x) -> Tensor(a!)", "x", "return x.add_(1)", []),
        ("f(Tensor(a!) x, Tensor(b!) y) -> (Tensor(a!), Tensor(b!))", "x, y", "return x, y", []),
        ("f(Tensor(a!) x, Tensor(b!) y) -> (Tensor(a!), Tensor(b!))", "x, y", "return y, x", ["y", "x"]),
        ("f(Tensor(a!) x) -> (Tensor(a!), Tensor)", "x", "return x, x", ["x"]),
        ("f(Tensor(a) x) -> Tensor(a)", "x", "return x", []),
    ],
)
def test_returned_arguments(
    tmp_path: Path, schema: str, parameters: str, body: str, found: list[str]
) -> None:
    diagnostics = [d for d in meta(tmp_path, schema, parameters, body) if d.code == "OPK231"]
    assert [underlined(d) for d in diagnostics] == found
    assert {d.severity.value for d in diagnostics} <= {"error"}


def test_a_python_kernel_returns_no_argument_either(tmp_path: Path) -> None:
    code = 'import torch\n@torch.library.custom_op("npu::f", mutates_args=())\ndef f(x): return {}\n'
    assert codes(against(tmp_path, ONE, code.format("x"))) == ["OPK231 error"]
    assert codes(against(tmp_path, ONE, code.format("torch.relu(x)"))) == []


def test_functions_inside_return_for_themselves(tmp_path: Path) -> None:
    body = "def inner():\n    return x, x\ng = lambda: (x, x)\nreturn torch.empty_like(x)"
    assert codes(meta(tmp_path, ONE, "x", body)) == []
