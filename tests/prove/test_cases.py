"""Cases made from a schema."""

from __future__ import annotations

import pytest

from opkit.model.operator import Case, OpSpec, TensorSpec
from opkit.prove.cases import Candidate, NoCase, candidates
from opkit.read import read_text


def spec(func: str, cases: str = "") -> OpSpec:
    op_file, diagnostics = read_text(f"custom:\n  - func: {func}\n{cases}", "ops.yaml", None)
    assert op_file is not None, diagnostics
    return op_file.operators[0]


def first(func: str) -> Case:
    candidate = candidates(spec(func))[0]
    assert isinstance(candidate, Candidate)
    return candidate.alternatives[0][1]


def test_every_tensor_has_a_shape_of_its_own() -> None:
    case = first("f(Tensor x, Tensor y, Tensor[] z) -> Tensor")
    dims = dict(case.dims)
    x, y, z = (value for _, value in case.inputs)
    assert isinstance(z, tuple)
    tensors = [x, y, *z]
    assert len(z) == 2
    for size in range(3):
        shapes = [tuple(dims[d][size] if isinstance(d, str) else d for d in t.dims) for t in tensors]
        numbers = [n for shape in shapes for n in shape]
        assert len(set(numbers)) == len(numbers)
        assert all(n % 2 for n in numbers)


def test_optionals_are_given_and_left_out() -> None:
    given, none = candidates(spec("f(Tensor x, Tensor? y, *, int? n=None) -> Tensor"))
    assert (given.name, none.name) == ("optionals given", "optionals None")
    assert isinstance(given, Candidate)
    assert isinstance(none, Candidate)
    assert all(value is not None for _, value in given.alternatives[0][1].inputs)
    assert dict(none.alternatives[0][1].inputs)["y"] is None
    assert dict(none.alternatives[0][1].inputs)["n"] is None


def test_host_values_differ_from_their_defaults_and_from_each_other() -> None:
    case = first("f(Tensor x, int a=1, float b=1e-5, bool c=True, SymInt[2] d=0, int e=3) -> Tensor")
    values = dict(case.inputs)
    assert values["c"] is False
    numbers = [values["a"], values["b"], *values["d"], values["e"]]
    assert len(set(numbers)) == len(numbers)
    assert (values["a"], values["e"]) != (1, 3)


def test_strings_keep_their_default() -> None:
    assert "layout" not in dict(first("f(Tensor x, str layout='BSND') -> Tensor").inputs)


def test_alternatives_get_tamer() -> None:
    candidate = candidates(spec("f(Tensor x, Tensor y, int dim=-1) -> Tensor"))[0]
    assert isinstance(candidate, Candidate)
    distinct, same, defaults = (case for _, case in candidate.alternatives)
    assert dict(distinct.inputs)["x"] != dict(distinct.inputs)["y"]
    assert dict(same.inputs)["x"] == dict(same.inputs)["y"] == TensorSpec("float16", ("B", 7))
    assert "dim" not in dict(defaults.inputs)


def test_equal_alternatives_are_tried_once() -> None:
    candidate = candidates(spec("f(Tensor x) -> Tensor"))[0]
    assert isinstance(candidate, Candidate)
    assert len(candidate.alternatives) == 1


@pytest.mark.parametrize("argument", ["str mode", "Device device", "Generator g"])
def test_what_cannot_be_invented_is_asked_for(argument: str) -> None:
    [none] = candidates(spec(f"f(Tensor x, {argument}) -> Tensor"))
    assert isinstance(none, NoCase)
    assert "write `cases:`" in none.reason
    assert f"`{argument.split()[1]}`" in none.reason


def test_written_cases_are_taken_as_they_are() -> None:
    text = '    cases:\n      - {name: small, x: "f16[B, 8]", B: [4, 3]}\n      - {x: "f32[2, 2]"}\n'
    found = candidates(spec("f(Tensor x) -> Tensor", text))
    assert found[0].name == "small"
    assert len(found) == 2
    assert all(isinstance(c, Candidate) and len(c.alternatives) == 1 for c in found)
