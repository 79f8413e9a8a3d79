"""The short cut through the schema parser gives what the parser gives, or nothing."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opkit.read.schema import parse_schema_source
from opkit.read.source import SourceText
from opkit.read.usual import usual_schema

USUAL = [
    "f() -> ()",
    "f.out(Tensor self, Scalar alpha=1, *, Tensor(a!) out) -> Tensor(a!)",
    "f_(Tensor(a!) self, int[2] pad=[0,0], int[] dims, str mode='a') -> (Tensor y, Tensor[] z)",
    "f(Tensor? x=None, *, float eps=1e-06, bool[3] mask, SymInt n=-1) -> (Tensor, Tensor)",
]
NOT_USUAL = [
    "f(Tensor x,Tensor y) -> Tensor",
    "f(Tensor x) ->Tensor",
    "f(Tensor  x) -> Tensor",
    "f(Tensor x, str s='a, int b') -> Tensor",
    "f(Tensor x, str s=', Tensor y, ') -> Tensor",
    "f(Tensor x, int[2] p=[1, 2]) -> Tensor",
    "f(Dict(str, Tensor) x) -> Tensor",
    "f((int, int) x) -> Tensor",
    "ns::f(Tensor x) -> Tensor",
    "f(Tensor! x) -> Tensor",
    "f(Tensor x) -> None",
    "f(Tensor x, Tensor x) -> Tensor",
    "f(int n=1, Tensor x) -> Tensor",
    "f(Tensor x, *) -> Tensor",
    "f(Tensor x, *, *, int n) -> Tensor",
    "f(Tensor x, ) -> Tensor",
    "f(Tensor x) -> Tensor) -> Tensor",
    "f.default(Tensor x) -> Tensor",
    "for(Tensor x) -> Tensor",
    "f.in(Tensor x) -> Tensor",
    "f(Tensor x, *Tensor y) -> Tensor",
]


def source(text: str) -> SourceText:
    return SourceText(text, "ops.yaml", (3, 7))


@pytest.mark.parametrize("text", USUAL)
def test_usual(text: str) -> None:
    found = usual_schema(source(text))
    assert found is not None
    assert (found, ()) == parse_schema_source(source(text))


@pytest.mark.parametrize("text", NOT_USUAL)
def test_left_to_the_parser(text: str) -> None:
    assert usual_schema(source(text)) is None


PIECES = st.sampled_from(
    ["", " ", ",", ", ", "*", ", *, ", "(", ")", "[", "]", "'", '"', "?", "!", " -> ", "=1", "Tensor z"]
)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(USUAL + NOT_USUAL), st.integers(0, 90), st.integers(0, 3), PIECES)
def test_never_anything_else_than_the_parser(text: str, place: int, removed: int, piece: str) -> None:
    changed = text[:place] + piece + text[place + removed :]
    found = usual_schema(source(changed))
    if found is not None:
        assert (found, ()) == parse_schema_source(source(changed))
