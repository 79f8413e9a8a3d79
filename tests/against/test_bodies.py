"""Sizes made into numbers, devices, dtypes and undefined names in Meta kernels."""

from __future__ import annotations

from pathlib import Path

import pytest
from comparing import HEAD, against, codes, meta, underlined

SCHEMA = "f(Tensor x, SymInt n=1, int k=1) -> Tensor"


def check(directory: Path, body: str, code: str) -> list[str]:
    """What is underlined by the findings of one code."""
    return [underlined(d) for d in meta(directory, SCHEMA, "x, n=1, k=1", body) if d.code == code]


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("return x.new_empty((int(x.shape[0]), 2))", ["int(x.shape[0])"]),
        ("b = x.size(0)\nreturn x.new_empty((int(b), 2))", ["int(b)"]),
        ("a, b = x.shape\nreturn x.new_empty(int(a * 2))", ["int(a * 2)"]),
        ("return torch.empty_like(x.flatten()[: x.numel() / 2])", ["x.numel() / 2"]),
        ("return x.new_empty(math.ceil(x.shape[-1] / 32))", ["math.ceil(x.shape[-1] / 32)"]),
        ("return x.new_empty(int(math.floor(x.size(0) / 2)))", ["int(math.floor(x.size(0) / 2))"]),
        ("s = list(x.shape)\ns[0] = s[0] / 2\nreturn x.new_empty(s)", ["s[0] / 2"]),
        ("s = []\ns.append(x.size(0))\nreturn x.new_empty(int(s[0]))", ["int(s[0])"]),
        ("return x.new_empty(tuple(map(int, x.shape)))", ["map(int, x.shape)"]),
        ("return x.new_empty([int(d) for d in x.shape])", ["int(d)"]),
        ("return x.new_empty(int(n))", ["int(n)"]),
        ("return x.new_empty(x.item())", ["x.item()"]),
        # Integer arithmetic stays symbolic; an `int` argument, the rank and a length are numbers anyway.
        ("return x.new_empty((x.shape[0], 2))", []),
        ("return x.new_empty((x.size(-1) + 31) // 32)", []),
        ("return x.new_empty(int(k), math.ceil(k / 2))", []),
        ("return x.new_empty(int(x.dim() / 2))", []),
        ("return x.new_empty(int(len(x.shape) / 2))", []),
        ("return torch.empty_like(x / 2)", []),
    ],
)
def test_sizes(tmp_path: Path, body: str, found: list[str]) -> None:
    assert check(tmp_path, body, "OPK229") == found


KEY = """\
import torch
from torch.library import Library, impl
m = Library("npu", "IMPL", "Meta")
@impl(m, "f")
def f(x):
    {}
"""
FAKE = """\
import torch
@torch.library.register_fake("npu::f")
def f(x):
    {}
"""
KERNEL = """\
import torch
@torch.library.impl("npu::f", "cpu")
def f(x):
    {}
"""


@pytest.mark.parametrize(
    ("form", "body", "found"),
    [
        (KEY, "return torch.empty(x.shape, dtype=x.dtype)", "error"),
        (KEY, "return torch.empty(x.shape, device=None)", "error"),
        (KEY, "return torch.empty(x.shape, device='meta')", None),
        (KEY, "return torch.empty(x.shape, device=torch.device('meta'))", None),
        (KEY, "return torch.empty(x.shape, device=x.device)", None),
        (KEY, "return torch.empty(x.shape, device='npu')", "error"),
        (KEY, "y = torch.zeros(2)\n    return x.new_empty(2)", "warning"),
        (KEY, "y = torch.zeros(2)\n    return y", "error"),
        (KEY, "return x.new_empty(2)", None),
        (KEY, "return torch.empty_like(x)", None),
        (KEY, "return torch.empty_like(x, device='cpu')", "error"),
        (KEY, "return torch.empty(2, **options(x))", None),
        (KEY, "with torch.device(x.device):\n        return torch.empty(2)", None),
        (FAKE, "return torch.empty(x.shape)", "error"),
        (FAKE, "return torch.empty(x.shape, device='meta')", "error"),
        (FAKE, "return torch.empty(x.shape, device=x.device)", None),
        (KERNEL, "return torch.empty(x.shape)", None),
    ],
)
def test_device(tmp_path: Path, form: str, body: str, found: str | None) -> None:
    diagnostics = against(tmp_path, "f(Tensor x) -> Tensor", form.format(body))
    assert codes([d for d in diagnostics if d.code == "OPK230"]) == ([f"OPK230 {found}"] if found else [])


@pytest.mark.parametrize(
    ("argument", "body", "found"),
    [
        ("int d=1", "return torch.empty_like(x, dtype=d)", True),
        ("int? d=None", "return torch.empty_like(x, dtype=d if d is not None else x.dtype)", True),
        ("int d=1", "t = d\nreturn x.new_empty(2, dtype=t)", True),
        ("int d=1", "return torch.empty_like(x, dtype=5)", True),
        ("int d=1", "return torch.empty_like(x, dtype=TYPES[d])", False),
        ("int d=1", "d = TYPES[d]\nreturn torch.empty_like(x, dtype=d)", False),
        ("int d=1", "assert isinstance(d, torch.dtype)\nreturn torch.empty_like(x, dtype=d)", False),
        ("ScalarType? d=None", "return torch.empty_like(x, dtype=d)", False),
    ],
)
def test_dtype(tmp_path: Path, argument: str, body: str, found: bool) -> None:
    diagnostics = meta(tmp_path, f"f(Tensor x, {argument}) -> Tensor", "x, d=None", body)
    assert ("OPK232 error" in codes(diagnostics)) == found


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("def f(x1):\n    torch._check(x1.dim() == 3, lambda: f'{x.dim()}')\n    raise ValueError", ["x"]),
        ("def f(x):\n    if sink is None:\n        raise ValueError\n    return sink", ["sink"]),
        ("def f(x):\n    return [torch.empty_like(y) for z in x]", ["y"]),
        ("def f(x):\n    return helper(x, math.pi, LIMIT)\n\ndef helper(*a): ...\nLIMIT = 3", []),
        ("def f(x):\n    global COUNT\n    COUNT = 1\n    return helper(COUNT)\n\ndef helper(c): ...", []),
        ("def f(x):\n    import os\n    return os.fspath(__file__)", []),
        ("def f(x):\n    if x.dim():\n        y = x.clone()\n    return y", []),
    ],
)
def test_undefined_names(tmp_path: Path, code: str, found: list[str]) -> None:
    head = HEAD + '@impl(m, "f")\n'
    diagnostics = against(tmp_path, "f(Tensor x) -> Tensor", head + code)
    assert [underlined(d) for d in diagnostics if d.code == "OPK233"] == found
    # What `*` brings in cannot be known.
    starred = against(tmp_path, "f(Tensor x) -> Tensor", "from os.path import *\n" + head + code)
    assert "OPK233 error" not in codes(starred)
