"""Schemas in C++ and `mutates_args` in Python beside the schema of the YAML."""

from __future__ import annotations

from pathlib import Path

import pytest
from comparing import HEAD, against, codes, declared, underlined

BLOCK = 'TORCH_LIBRARY_FRAGMENT(mine, m) {{\n  m.def("{}");\n}}\n'


@pytest.mark.parametrize(
    ("schema", "definition", "message"),
    [
        (
            "f(Tensor x, SymInt n=1) -> Tensor",
            "f(Tensor x, int n=1) -> Tensor",
            "has `int n=1` where the YAML has",
        ),
        ("f(Tensor x, int n=1) -> Tensor", "f(Tensor x, int n=2) -> Tensor", "has `int n=2`"),
        ("f(Tensor x, int n=1) -> Tensor", "f(Tensor x, int m=1) -> Tensor", "has `int m=1`"),
        ("f(Tensor(a!) x) -> ()", "f(Tensor x) -> ()", "has `Tensor x` where the YAML has `Tensor(a!) x`"),
        ("f(Tensor x, bool b=True) -> ()", "f(Tensor x, bool b=1) -> ()", "has `bool b=1`"),
        ("f(Tensor x) -> Tensor", "f(Tensor x, int n) -> Tensor", "only the definition in C++ has `int n`"),
        (
            "f(Tensor x, int n) -> Tensor",
            "f(Tensor x) -> Tensor",
            "only the definition in the YAML has `int n`",
        ),
        ("f(Tensor x) -> Tensor", "f(Tensor x) -> ()", "returns (), the YAML (Tensor)"),
        ("f(Tensor x) -> Tensor", "f(Tensr x) -> Tensor", "is none: unknown type `Tensr`"),
    ],
)
def test_a_definition_that_differs(tmp_path: Path, schema: str, definition: str, message: str) -> None:
    (found,) = against(tmp_path, f"mine::{schema}", BLOCK.format(definition), "ops.cpp")
    assert codes([found]) == ["OPK242 error"]
    assert message in found.message
    assert underlined(found).strip('"') == definition


@pytest.mark.parametrize(
    ("schema", "definition"),
    [
        (
            "f(Tensor x, float eps=1e-06) -> (Tensor y, Tensor z)",
            "f(Tensor x, float eps=0.000001)->(Tensor,Tensor)",
        ),
        ("f(Tensor(a!) self) -> ()\nop_api: all_version", "f(Tensor(a!) input) -> ()"),
        (
            "f.out(Tensor self, *, Tensor(a!) p, Tensor(b!) q) -> (Tensor(a!), Tensor(b!))\nop_api: v2.13",
            "f.out(Tensor input, *, Tensor[] out) -> (Tensor, Tensor)",
        ),
        ("g(Tensor x) -> ()", "other(Tensor x, int n) -> ()"),
    ],
)
def test_a_definition_that_means_the_same(tmp_path: Path, schema: str, definition: str) -> None:
    found = against(tmp_path, f"mine::{schema}", BLOCK.format(definition), "ops.cpp")
    assert [d for d in found if d.code == "OPK242"] == []


@pytest.mark.parametrize(
    ("mutates", "message"),
    [
        ('("x",)', None),
        ('["x"]', None),
        ('"unknown"', None),
        ("MUTATED", None),
        ("()", "lacks `x`, which the schema marks as written"),
        ('("y",)', "lacks `x`, which the schema marks as written and lists `y`, which the schema only reads"),
        ('("x", "y")', "lists `y`, which the schema only reads"),
    ],
)
def test_mutates_args(tmp_path: Path, mutates: str, message: str | None) -> None:
    code = (
        f'{HEAD}@torch.library.custom_op("mine::f", mutates_args={mutates})\n'
        "def f(x: torch.Tensor, y: torch.Tensor) -> None:\n    raise ValueError\n"
    )
    found = [
        d for d in against(tmp_path, "mine::f(Tensor(a!) x, Tensor y) -> ()", code) if d.code == "OPK244"
    ]
    assert [d.message for d in found] == ([f"`mutates_args` {message}"] if message else [])
    assert all(underlined(d) == mutates for d in found)


def test_sizes_are_quoted_as_they_are_written(tmp_path: Path) -> None:
    code = "namespace meta { at::Tensor f(const at::Tensor& x) { auto n = x.sizes()[0]; return x; } }\n"
    findings = against(tmp_path, declared("f(Tensor x) -> Tensor"), code, "meta.cpp")
    (found,) = [d for d in findings if d.code == "OPK243"]
    assert "asks for `x.sizes()[0]` as a number" in found.message
