from __future__ import annotations

import pytest

from opkit.model.diagnostic import Diagnostic
from opkit.model.operator import Case, TensorSpec
from opkit.read import read_text

FUNC = (
    "f(Tensor x, Tensor? y, Tensor[] z, float attr1=1.0, int attr2=0, *, bool flag=False, str mode='a', "
    "ScalarType? dtype=None, int[2] pads=0, int[]? seq=None) -> Tensor"
)
REST = 'y: null, z: ["f16[B, 8]"]'


def text_of(case: str, func: str = FUNC) -> str:
    return f"custom:\n  - func: {func}\n    cases:\n      - {{{case}}}\n"


def read(case: str, func: str = FUNC) -> Case:
    op_file, diagnostics = read_text(text_of(case, func), "ops.yaml")
    assert op_file is not None
    assert diagnostics == ()
    return op_file.operators[0].cases[0]


def findings(case: str, func: str = FUNC) -> list[Diagnostic]:
    return list(read_text(text_of(case, func), "ops.yaml")[1])


def test_case() -> None:
    case = read(
        f'attr1: 2, {REST}, x: "bf16[B, 8]", attr2: 5, B: [4, 3, 7], '
        "flag: true, mode: tnd, dtype: i64, seq: [1, 2]"
    )
    assert case.name == "case1"
    assert case.dims == (("B", (4, 3, 7)),)
    assert case.inputs == (
        ("x", TensorSpec("bfloat16", ("B", 8))),
        ("y", None),
        ("z", (TensorSpec("float16", ("B", 8)),)),
        ("attr1", 2.0),
        ("attr2", 5),
        ("flag", True),
        ("mode", "tnd"),
        ("dtype", "int64"),
        ("seq", (1, 2)),
    )
    assert isinstance(dict(case.inputs)["attr1"], float)


def test_block_style_and_small_forms() -> None:
    text = (
        "custom:\n  - func: f(Tensor x, int[2] p, float e=1e-6) -> Tensor\n    cases:\n"
        "      - x: float32[]\n        p: 1\n        e: 1e-5\n        name: scalar\n"
        "      - x: torch.half[0, N]\n        p: [1, 2]\n        N: 4\n        call: 'm.py:fn'\n"
    )
    op_file, diagnostics = read_text(text, "ops.yaml")
    assert diagnostics == ()
    assert op_file is not None
    first, second = op_file.operators[0].cases
    assert first.inputs == (("x", TensorSpec("float32", ())), ("p", (1, 1)), ("e", 1e-5))
    assert (first.name, second.name) == ("scalar", "case2")
    assert second.inputs[0] == ("x", TensorSpec("float16", (0, "N")))
    assert str(second.call) == "m.py:fn"


def test_an_argument_named_like_a_key_of_the_case_wins() -> None:
    case = read('x: "f16[2]", name: a, call: b', "f(Tensor x, str name, str call) -> Tensor")
    assert case.inputs[1:] == (("name", "a"), ("call", "b"))
    assert case.call is None


@pytest.mark.parametrize(
    "short", ["f16", "bf16", "f32", "f64", "i8", "u8", "i16", "i32", "i64", "bool", "c64"]
)
def test_short_dtypes(short: str) -> None:
    spec = read(f'x: "{short}[2]"', "f(Tensor x) -> Tensor").inputs[0][1]
    assert isinstance(spec, TensorSpec)
    assert spec.dtype.lstrip("bfloatinucmpex").isdigit() or spec.dtype == "bool"


@pytest.mark.parametrize(
    ("case", "place", "help_"),
    [
        (f'{REST}, x: "f17[2]", B: 4', "f17", "f16"),
        (f'{REST}, x: "f16[2", B: 4', '"f16[2"', "f16[B, 8]"),
        (f'{REST}, x: "f16[2, -1]", B: 4', "-1", "number or a name"),
        (f'{REST}, x: "f16[N]", B: 4', "N", "N: [4, 3, 7]"),
        (f"{REST}, x: 3, B: 4", "3", "f32[]"),
        (f"{REST}, x: null, B: 4", "null", "can be null"),
        (f"{REST}, B: 4", "", 'x: "f16[4, 8]"'),
        (f'{REST}, x: "f16[B]", B: -1', "-1", ""),
        (f'{REST}, x: "f16[B]", B: []', "[]", ""),
        (f'{REST}, x: "f16[B]", B: [4, 2147483648]', "2147483648", ""),
        (f'{REST}, x: "f16[99999999999999999999, 8]", B: 4', "99999999999999999999", ""),
        (f'{REST}, x: "f16[B]", B: 4, atr1: 2.0', "atr1", "attr1"),
        (f'{REST}, x: "f16[B]", B: 4, attr2: 2.5', "2.5", ""),
        (f'{REST}, x: "f16[B]", B: 4, attr2: true', "true", ""),
        (f'{REST}, x: "f16[B]", B: 4, attr1: fast', "fast", ""),
        (f'{REST}, x: "f16[B]", B: 4, flag: 1', "1", ""),
        (f'{REST}, x: "f16[B]", B: 4, mode: 1', "1", ""),
        (f'{REST}, x: "f16[B]", B: 4, mode: null', "null", "leave it out"),
        (f'{REST}, x: "f16[B]", B: 4, dtype: flot16', "flot16", "float16"),
        (f'{REST}, x: "f16[B]", B: 4, seq: 1', "1", ""),
        ('x: "f16[2]", y: null, z: "f16[2]"', '"f16[2]"', ""),
        ('x: "f16[2]", z: []', "", "y: null"),
    ],
)
def test_mistakes(case: str, place: str, help_: str) -> None:
    (found,) = findings(case)
    assert found.code == "OPK043"
    assert help_ in found.help
    if place:
        assert found.mark is not None
        line = text_of(case).split("\n")[found.mark.line - 1]
        assert line[found.mark.column - 1 :][: found.mark.length] == place


def test_two_cases_of_one_name() -> None:
    text = (
        "custom:\n  - func: f(Tensor x) -> Tensor\n    cases:\n"
        '      - {x: "f16[2]", name: a}\n      - {x: "f16[3]", name: a}\n'
    )
    assert [d.code for d in read_text(text, "ops.yaml")[1]] == ["OPK043"]


@pytest.mark.parametrize("cases", ["x", "{a: b}", "[1]", "[[1]]"])
def test_cases_of_another_form(cases: str) -> None:
    text = f"custom:\n  - func: f(Tensor x) -> Tensor\n    cases: {cases}\n"
    (found,) = read_text(text, "ops.yaml")[1]
    assert found.code in ("OPK043", "OPK004")


def test_named_dtypes_contents_and_host_tensors() -> None:
    case = read(
        'x: "T[B, 2]", y: "cpu i64[3] = 5, -2, 1.5e1", z: ["T[2]", "nz U[2]"], '
        "T: [f16, bf16], U: i8, B: 3, raises: true"
    )
    inputs = dict(case.inputs)
    assert inputs["x"] == TensorSpec("T", ("B", 2))
    assert inputs["y"] == TensorSpec("int64", (3,), (5.0, -2.0, 15.0), on_host=True)
    assert str(inputs["y"]) == "cpu int64[3] = 5, -2, 15"
    assert inputs["z"] == (TensorSpec("T", (2,)), TensorSpec("U", (2,), nz=True))
    assert str(TensorSpec("U", (2,), nz=True)) == "nz U[2]"
    assert case.dtypes == (("T", ("float16", "bfloat16")), ("U", ("int8",)))
    assert case.dims == (("B", (3,)),)
    assert case.raises


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (f'x: "T[2]", {REST}, B: 1', "unknown dtype `T`"),
        (f'x: "T[2]", {REST}, B: 1, T: [f16, f99]', "a list of dtypes is needed here"),
        (f'x: "T[2]", {REST}, B: 1, T: 3', "a list of dtypes is needed here"),
        (f'x: "i64[2] = 1, a", {REST}, B: 1', "`a` is no number"),
        (f'x: "f16[2]", {REST}, B: 1, raises: yes please', "`raises` is true or false"),
    ],
)
def test_mistakes_in_named_dtypes_and_contents(case: str, message: str) -> None:
    found = findings(case)
    assert any(message in diagnostic.message for diagnostic in found), found
