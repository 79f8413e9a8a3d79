from __future__ import annotations

import math

import pytest
from defaults_table import ACCEPTED, REFUSED, WITHOUT_DEFAULT
from hypothesis import given
from hypothesis import strategies as st

from opkit.model.diagnostic import Diagnostic, Mark
from opkit.model.schema import Alias, BaseType, ListType, OperatorSchema, OptionalType
from opkit.read import parse_schema

MARK = Mark("ops.yaml", 3, 11)


def parse(text: str) -> OperatorSchema:
    schema, diagnostics = parse_schema(text, MARK)
    assert schema is not None, diagnostics
    return schema


def finding(text: str, code: str) -> Diagnostic:
    _schema, diagnostics = parse_schema(text, MARK)
    assert [d.code for d in diagnostics] == [code], diagnostics
    return diagnostics[0]


def underlined(text: str, diagnostic: Diagnostic) -> str:
    """The characters under the caret, for a text of one line that begins at MARK."""
    assert diagnostic.mark is not None
    start = diagnostic.mark.column - MARK.column
    return text[start : start + diagnostic.mark.length]


@pytest.mark.parametrize(("text", "value"), ACCEPTED)
def test_default_has_torchs_value(text: str, value: object) -> None:
    argument = parse(f"f(Tensor y, {text}) -> Tensor").arguments[1]
    assert argument.default is not None
    assert type(argument.default.value) is type(value)
    assert repr(argument.default.value) == repr(value)
    assert argument.default.text == text.partition("=")[2]


@pytest.mark.parametrize("text", REFUSED)
def test_refused(text: str) -> None:
    schema, diagnostics = parse_schema(f"f(Tensor y, {text}) -> Tensor", MARK)
    assert schema is None
    assert diagnostics
    assert all(d.mark and d.message for d in diagnostics)


@pytest.mark.parametrize("text", WITHOUT_DEFAULT)
def test_accepted_without_default(text: str) -> None:
    assert parse(f"f(Tensor y, {text}) -> Tensor").arguments[1].default is None


def test_negative_zero_keeps_its_sign() -> None:
    default = parse("f(float x=-0.0) -> ()").arguments[0].default
    assert default is not None
    assert isinstance(default.value, float)
    assert math.copysign(1, default.value) == -1


def test_everything_is_kept() -> None:
    text = (
        "mylib::foo_.bar(Tensor(a!) x, Tensor(b!)? y, Tensor?[] z, SymInt[2]? n=None, *, str s='a,b)->(', "
        "Tensor(c!)[] out) -> (Tensor(a!) first, Tensor)"
    )
    schema = parse(text)
    assert schema.name.qualified == "mylib::foo_.bar"
    assert [a.name for a in schema.keyword_only] == ["s", "out"]
    assert [a.name for a in schema.mutated] == ["x", "y", "out"]
    assert schema.arguments[1].type == OptionalType(BaseType("Tensor"))
    assert schema.arguments[2].type == ListType(OptionalType(BaseType("Tensor")))
    assert schema.arguments[3].type == OptionalType(ListType(BaseType("SymInt"), 2))
    assert schema.arguments[5].alias == Alias(("c",), True)
    assert schema.returns[0].name == "first"
    assert f"{schema.name.namespace}::{schema}" == text


@pytest.mark.parametrize(
    "text",
    [
        "f( Tensor a ,Tensor b=None )-> (Tensor y ,Tensor z)",
        "f(int ? k = 0, *,Tensor? w=None)->()",
        "f(SymInt m= -1) -> Tensor",
        "f (Tensor x)->()",
    ],
)
def test_loose_spacing_becomes_canonical(text: str) -> None:
    canonical = str(parse(text))
    assert str(parse(canonical)) == canonical
    assert " ," not in canonical
    assert "->" in canonical.replace(" -> ", "->")


def test_returns_none_is_no_result() -> None:
    schema, diagnostics = parse_schema("f(Tensor(a!) x) -> None", MARK)
    assert schema is not None
    assert schema.returns == ()
    assert [d.code for d in diagnostics] == ["OPK015"]


def test_bare_mutation_gets_letters_not_used_elsewhere() -> None:
    schema, diagnostics = parse_schema("f(Tensor! x, Tensor(a!) y, Tensor![] z) -> ()", MARK)
    assert schema is not None
    assert [a.alias for a in schema.arguments] == [
        Alias(("b",), True),
        Alias(("a",), True),
        Alias(("c",), True),
    ]
    assert [d.code for d in diagnostics] == ["OPK016", "OPK016"]


def test_more_bare_mutations_than_letters() -> None:
    arguments = ", ".join(f"Tensor! x{i}" for i in range(60))
    schema, _ = parse_schema(f"f({arguments}) -> ()", MARK)
    assert schema is not None
    assert len({a.alias for a in schema.arguments}) == 60


@pytest.mark.parametrize(
    ("text", "code", "place", "help_"),
    [
        ("f(Tensr x) -> ()", "OPK011", "Tensr", "Tensor"),
        ("f(Tensor x, double p) -> ()", "OPK011", "double", "float"),
        ("f(Tensor x, int64_t p) -> ()", "OPK011", "int64_t", "int"),
        ("f(Optional[Tensor] x) -> ()", "OPK011", "Optional", "T?"),
        ("f(Tensor x, Tensor x) -> ()", "OPK014", "Tensor x", "rename"),
        ("f(int a=1, int b) -> ()", "OPK010", "int b", "default"),
        ("f(Tensor x,) -> ()", "OPK010", ")", "comma"),
        ("f(Tensor x) -> ();", "OPK010", ";", ""),
        ("f(Tensor x)", "OPK010", "", "->"),
        ("f.default(Tensor x) -> ()", "OPK010", "default", "leave"),
        ("f.a.b(Tensor x) -> ()", "OPK010", ".", ""),
        ("a::b::c(Tensor x) -> ()", "OPK010", "::", ""),
        ("f(Tensor?(a!) x) -> ()", "OPK010", "(", "Tensor(a!)?"),
        ("f(Tensor(a!|b) x) -> ()", "OPK010", "|", ""),
        ("f(Tensor in) -> ()", "OPK010", "in", "in_"),
        ("f(Tensor x, *) -> ()", "OPK010", "*", "remove"),
        ("f(Tensor x, *, *, int y) -> ()", "OPK010", "*", ""),
        ("f(float x=inf) -> ()", "OPK013", "inf", "float?"),
        ("f(bool x=true) -> ()", "OPK013", "true", "True"),
        ("f(int[] x=()) -> ()", "OPK013", "(", "square"),
        ("f(int[] x=None) -> ()", "OPK013", "None", "int[]?"),
        ("f(Device d='npu') -> ()", "OPK013", "'npu'", "Device?"),
        ("f(str s='a) -> ()", "OPK010", "'a) -> ()", "close"),
        ("", "OPK010", "", ""),
    ],
)
def test_mistakes(text: str, code: str, place: str, help_: str) -> None:
    found = finding(text, code)
    assert underlined(text, found) == place
    assert help_ in found.help


def test_all_mistakes_of_a_schema_are_found() -> None:
    text = "f(Tensr x, int y=inf, Tensor[] z=None, flot w) -> Tensor"
    _, diagnostics = parse_schema(text, MARK)
    assert [underlined(text, d) for d in diagnostics] == ["Tensr", "inf", "None", "flot"]


def test_an_unclosed_bracket_gives_one_finding() -> None:
    assert (
        underlined("f(Tensor[ z, int w) -> Tensor", finding("f(Tensor[ z, int w) -> Tensor", "OPK010")) == "z"
    )


def test_positions() -> None:
    text = "foo(Tensor(a!) x, int n=1) -> (Tensor, Tensor y)"
    schema = parse(text)
    spans = [
        text[m.column - MARK.column :][: m.length]
        for m in [*(a.mark for a in schema.arguments), *(r.mark for r in schema.returns)]
    ]
    assert spans == ["Tensor(a!) x", "int n=1", "Tensor", "Tensor y"]
    assert all(a.mark.line == 3 for a in schema.arguments)


def test_position_after_a_line_break() -> None:
    schema = parse("foo(Tensor x,\n  int n) -> Tensor")
    assert schema.arguments[1].mark == Mark("ops.yaml", 4, 3, 5)


@given(st.text(max_size=60))
def test_never_raises(text: str) -> None:
    schema, diagnostics = parse_schema(text, MARK)
    assert schema is not None or diagnostics


@given(
    st.lists(st.sampled_from([*list("()[]?!,*=->.:|a1 "), "Tensor", "int", "->", "None", '"']), max_size=25)
)
def test_never_raises_on_fragments(parts: list[str]) -> None:
    schema, diagnostics = parse_schema("f(" + "".join(parts), MARK)
    assert schema is not None or diagnostics


def test_deep_nesting_is_refused_not_a_crash() -> None:
    schema, diagnostics = parse_schema("f(" + "(" * 5000 + "int", MARK)
    assert schema is None
    assert diagnostics
