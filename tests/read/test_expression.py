from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opkit.model.diagnostic import Mark
from opkit.model.expression import Expression
from opkit.read import parse_expression

MARK = Mark("ops.yaml", 5, 9)


def shape(node: object) -> object:
    """The tree without its marks, as nested tuples."""
    if not dataclasses.is_dataclass(node):
        return tuple(shape(item) for item in node) if isinstance(node, tuple) else node
    values = [getattr(node, f.name) for f in dataclasses.fields(node) if f.name != "mark"]
    return (type(node).__name__, *(shape(v) for v in values))


def parse(text: str, dialect: str) -> Expression:
    expression, diagnostics = parse_expression(text, MARK, dialect)  # type: ignore[arg-type]
    assert expression is not None, diagnostics
    return expression


SAME = [
    ("a + b * 2", "a + b * 2"),
    ("(a + b) * 2", "(a + b) * 2"),
    ("a - b - c", "a - b - c"),
    ("a / 2", "a // 2"),
    ("a % 2 == 0 && b || !c", "a % 2 == 0 and b or not c"),
    ("a ? b : c", "b if a else c"),
    ("a ? b : c ? d : e", "b if a else (d if c else e)"),
    ("{x.size(0), -1, 8L}", "[x.size(0), -1, 8]"),
    ("c10::SmallVector<int64_t, op_infer::SIZE>{}", "[]"),
    ("c10::SmallVector<int64_t, op_infer::SIZE>{n}", "[n]"),
    ("at::ArrayRef<int64_t>()", "[]"),
    ("at::IntArrayRef{1}", "[1]"),
    ("std::get<1>(sizes)", "sizes[1]"),
    ("f(x, y)[1]", "f(x, y)[1]"),
    ("probs->scalar_type()", "probs.scalar_type()"),
    ("(int64_t)-1", "-1"),
    ("static_cast<int64_t>(a)", "a"),
    ("const_cast<char *>(s.data())", "s.data()"),
    ("static_cast<float>(p)", "float(p)"),
    ("nullptr", "None"),
    ("true", "True"),
    ('"TND"', "'TND'"),
    ("1e-5", "1e-5"),
    ("1.5f", "1.5"),
    ("a < b", "a < b"),
    ("+a", "+a"),
    ("(quant_mode == 4) ? a : b", "a if quant_mode == 4 else b"),
]


@pytest.mark.parametrize(("cpp", "python"), SAME)
def test_both_dialects_give_one_tree(cpp: str, python: str) -> None:
    assert shape(parse(cpp, "cpp")) == shape(parse(python, "python"))


def test_qualified_names_are_kept() -> None:
    assert shape(parse("at::ScalarType::Float", "cpp")) == ("Name", "at::ScalarType::Float")
    assert shape(parse("at::native::result_type({a, b})", "cpp")) == (
        "Call",
        ("Name", "at::native::result_type"),
        (("Sequence", (("Name", "a"), ("Name", "b"))),),
    )


def test_comma_operator() -> None:
    assert shape(parse("(f(a), b)", "cpp")) == (
        "Call",
        ("Name", ","),
        (("Call", ("Name", "f"), (("Name", "a"),)), ("Name", "b")),
    )


@pytest.mark.parametrize(
    ("python", "tree"),
    [
        ("a is not None", ("Binary", "!=", ("Name", "a"), ("Literal", None))),
        ("a not in b", ("Unary", "not", ("Binary", "in", ("Name", "a"), ("Name", "b")))),
        ("x.shape[1:]", ("Slice", ("Attribute", ("Name", "x"), "shape"), ("Literal", 1), None)),
        (
            "0 < a < 2",
            (
                "Binary",
                "and",
                ("Binary", "<", ("Literal", 0), ("Name", "a")),
                ("Binary", "<", ("Name", "a"), ("Literal", 2)),
            ),
        ),
    ],
)
def test_python_only(python: str, tree: object) -> None:
    assert shape(parse(python, "python")) == tree


@pytest.mark.parametrize("dialect", ["cpp", "python"])
def test_marks(dialect: str) -> None:
    text = "set(x.shape, -1, n % 2)"
    spans = []

    def collect(node: object) -> None:
        if isinstance(node, tuple):
            for item in node:
                collect(item)
        elif dataclasses.is_dataclass(node) and not isinstance(node, (Mark, type)):
            mark = node.mark  # type: ignore[attr-defined]
            spans.append(text[mark.column - 9 :][: mark.length])
            for field in dataclasses.fields(node):
                collect(getattr(node, field.name))

    collect(parse(text, dialect))
    assert spans == [text, "set", "x.shape", "x", "-1", "1", "n % 2", "n", "2"]


def test_marks_after_characters_of_several_bytes() -> None:
    _, (found,) = parse_expression("f('中文', a / b)", MARK, "python")
    assert found.mark is not None
    assert (found.mark.column, found.mark.length) == (9 + 8, 5)


@pytest.mark.parametrize(
    ("text", "dialect", "start", "length", "help_"),
    [
        ("a +", "cpp", 3, 1, ""),
        ("f(a", "cpp", 3, 1, ""),
        ("a b", "cpp", 2, 1, ""),
        ("x.size(0", "cpp", 8, 1, ""),
        ("{a, }", "cpp", 4, 1, ""),
        ("'a'", "cpp", 0, 3, '"'),
        ("a @ b", "cpp", 2, 1, ""),
        ("", "cpp", 0, 1, ""),
        ("   ", "python", 0, 1, ""),
        ("a / b", "python", 0, 5, "//"),
        ("a ** b", "python", 0, 6, ""),
        ("a @ b", "python", 0, 5, ""),
        ("f(k=1)", "python", 4, 1, ""),
        ("lambda: 1", "python", 0, 9, ""),
        ("x[::2]", "python", 4, 1, ""),
        ("a = 1", "python", 2, 1, ""),
        ("f(a", "python", 1, 1, ""),
        ("{i for i in a}", "python", 0, 14, ""),
        ("b'x'", "python", 0, 4, ""),
        ("a if b", "python", 0, 1, ""),
    ],
)
def test_mistakes(text: str, dialect: str, start: int, length: int, help_: str) -> None:
    expression, diagnostics = parse_expression(text, MARK, dialect)  # type: ignore[arg-type]
    assert expression is None
    (found,) = diagnostics
    assert found.code == "OPK020"
    assert found.mark is not None
    assert (found.mark.column - 9, found.mark.length) == (start, length)
    assert help_ in found.help


@pytest.mark.parametrize("dialect", ["cpp", "python"])
def test_deep_nesting_is_refused_not_a_crash(dialect: str) -> None:
    for text in ("(" * 20000, "-" * 20000 + "1", "[" * 20000, "x" + ".y" * 3000 + "("):
        expression, diagnostics = parse_expression(text, MARK, dialect)  # type: ignore[arg-type]
        assert expression is None
        assert len(diagnostics) == 1


@given(st.text(max_size=40), st.sampled_from(["cpp", "python"]))
def test_never_raises(text: str, dialect: str) -> None:
    expression, diagnostics = parse_expression(text, MARK, dialect)  # type: ignore[arg-type]
    assert (expression is None) == bool(diagnostics)


FRAGMENTS = [*"()[]{}?:,.+-*/%<>=!&|1x ", "->", "::", "std::get<0>", "f("]


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=20), st.sampled_from(["cpp", "python"]))
def test_never_raises_on_fragments(parts: list[str], dialect: str) -> None:
    expression, diagnostics = parse_expression("".join(parts), MARK, dialect)  # type: ignore[arg-type]
    assert (expression is None) == bool(diagnostics)
