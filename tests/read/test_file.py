from __future__ import annotations

from pathlib import Path
from typing import Callable

import pytest

from opkit.model.diagnostic import Diagnostic, Severity
from opkit.model.expression import Name
from opkit.model.operator import OpFile
from opkit.read import read_file, read_text

SAMPLE = """\
custom:
  - func: my_op(Tensor x, Tensor? y, Tensor[] z, float attr1, int attr2) -> Tensor
    op_api: all_version
    gen_opapi:
      out: {size: x, dtype: x}
      exec: aclnnMyOp
  - func: my_inplace(Tensor(a!) x, Tensor y) -> Tensor
    op_api: all_version
    gen_opapi:
      out: {size: y, dtype: y}
      exec: aclnnMyInplace
"""


def read(text: str, torch_version: str | None = None) -> OpFile:
    op_file, diagnostics = read_text(text, "ops.yaml", torch_version)
    assert op_file is not None
    assert diagnostics == ()
    return op_file


def findings(text: str, torch_version: str | None = None) -> tuple[Diagnostic, ...]:
    return read_text(text, "ops.yaml", torch_version)[1]


def codes(text: str, torch_version: str | None = None) -> list[str]:
    return [d.code for d in findings(text, torch_version)]


def underlined(text: str, found: Diagnostic) -> str:
    assert found.mark is not None
    line = text.split("\n")[found.mark.line - 1]
    return line[found.mark.column - 1 :][: found.mark.length]


def test_sample() -> None:
    op_file = read(SAMPLE)
    assert op_file.all_versions == tuple(f"v2.{n}" for n in range(1, 16))
    my_op, inplace = op_file.operators
    assert str(my_op.schema) == "my_op(Tensor x, Tensor? y, Tensor[] z, float attr1, int attr2) -> Tensor"
    assert my_op.section == "custom"
    assert my_op.op_api == op_file.all_versions
    assert my_op.acl_op == ()
    assert my_op.gen_opapi is not None
    assert my_op.gen_opapi.exec == ("aclnnMyOp",)
    (out,) = my_op.gen_opapi.outputs
    assert isinstance(out.size, Name)
    assert (out.name, out.size.name) == ("out", "x")
    assert [a.name for a in inplace.schema.mutated] == ["x"]
    assert op_file.operator("my_inplace") is inplace


def test_every_mark_of_the_sample_stands_on_its_text() -> None:
    lines = SAMPLE.split("\n")
    my_op, inplace = read(SAMPLE).operators
    marks = {
        "my_op": my_op.mark,
        "Tensor? y": my_op.schema.arguments[1].mark,
        "int attr2": my_op.schema.arguments[4].mark,
        "Tensor(a!) x": inplace.schema.arguments[0].mark,
    }
    assert my_op.gen_opapi is not None
    assert inplace.gen_opapi is not None
    marks["out"] = my_op.gen_opapi.outputs[0].mark
    size = inplace.gen_opapi.outputs[0].size
    assert size is not None
    marks["y"] = size.mark
    for text, mark in marks.items():
        assert lines[mark.line - 1][mark.column - 1 :][: mark.length] == text
    assert (size.mark.line, size.mark.column) == (10, 19)


FORMS: dict[str, Callable[[str, str], str]] = {
    "plain": lambda a, b: f"  - func: {a} {b}\n",
    "plain wrapped": lambda a, b: f"  - func: {a}\n            {b}\n",
    "single quotes": lambda a, b: f"  - func: '{a} {b}'\n",
    "single quotes wrapped": lambda a, b: f"  - func: '{a}\n\n     {b}'\n",
    "double quotes": lambda a, b: f'  - func: "{a} {b}"\n',
    "double quotes wrapped": lambda a, b: f'  - func: "{a} \\\n      {b}"\n',
    "double quotes escaped": lambda a, b: f'  - func: "{a.replace("x", chr(92) + "x78", 1)} {b}"\n',
    "folded": lambda a, b: f"  - func: >-  # comment\n\n      {a}\n      {b}\n",
    "literal": lambda a, b: f"  - func: |\n      {a}\n        {b}\n",
}


@pytest.mark.parametrize("form", FORMS)
def test_positions_through_yaml(form: str) -> None:
    text = "# é 中文\ncustom:\n" + FORMS[form]("my_op(Tensor x, int n=1,", "Tensr y) -> Tensor")
    (found,) = findings(text)
    assert found.code == "OPK011"
    assert underlined(text, found) == "Tensr"


def test_position_after_an_escaped_quote() -> None:
    text = "custom:\n  - func: 'f(str s=''a'', Tensr y) -> Tensor'\n"
    (found,) = findings(text)
    assert underlined(text, found) == "Tensr"


def test_byte_order_mark_and_windows_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "ops.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + SAMPLE.replace("\n", "\r\n").replace("Tensor? y", "Tensr? y").encode())
    _, (found,) = read_file(path)
    assert found.mark is not None
    assert (found.mark.line, found.mark.column, found.mark.length) == (2, 27, 5)


def test_missing_file(tmp_path: Path) -> None:
    op_file, (found,) = read_file(tmp_path / "nothing.yaml")
    assert op_file is None
    assert (found.code, found.mark) == ("OPK001", None)
    assert read_file(tmp_path)[1][0].code == "OPK001"


def test_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "ops.yaml"
    path.write_bytes(b"custom:\n  - \xff\n")
    _, (found,) = read_file(path)
    assert found.code == "OPK002"
    assert found.mark is not None
    assert (found.mark.line, found.mark.column) == (2, 5)


@pytest.mark.parametrize(
    "text", ["custom: [", "custom:\n\t- func: x", "a: b: c", "custom:\n  - {x: f16[B, 8]}", "x: \x07", "@"]
)
def test_bad_yaml(text: str) -> None:
    op_file, (found,) = read_text(text, "ops.yaml")
    assert op_file is None
    assert found.code == "OPK002"
    assert found.mark is not None


@pytest.mark.parametrize("text", ["", "# only a comment\n", "---\n", "null\n"])
def test_empty_file_is_a_warning(text: str) -> None:
    op_file, (found,) = read_text(text, "ops.yaml")
    assert op_file is not None
    assert op_file.operators == ()
    assert found.severity is Severity.WARNING


def test_null_and_missing_sections() -> None:
    text = "all_version: [v2.1, v2.13]\nofficial:\nautograd:\nsymint: null\n" + SAMPLE
    op_file = read(text)
    assert len(op_file.operators) == 2
    assert op_file.operators[0].op_api == ("v2.1", "v2.13")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("- func: f() -> ()", "OPK004"),
        ("custom: f", "OPK004"),
        ("custom: {func: f() -> ()}", "OPK004"),
        ("custom:\n  - [1]", "OPK004"),
        ("custom:\n  - op_api: all_version", "OPK017"),
        ("custom:\n  - func:", "OPK017"),
        ("custom:\n  - func: [1]", "OPK017"),
        ("customs:\n  - func: f() -> ()", "OPK005"),
        ("custom:\n  - func: f(Tensor x) -> ()\n    func: g(Tensor x) -> ()", "OPK003"),
        ("custom:\n  - func: f(Tensor x) -> ()\n    op_apis: all_version", "OPK007"),
        ("custom:\n  - func: f(Tensor x) -> ()\n    side_effect: yes please", "OPK004"),
        ("symint:\n  - func: f(Tensor x) -> ()", "OPK008"),
        ("custom:\n  - func: f(Tensor x) -> ()\n  - func: f(Tensor y) -> ()", "OPK009"),
    ],
)
def test_structure(text: str, code: str) -> None:
    assert codes(text) == [code]


def test_all_mistakes_in_one_run() -> None:
    text = (
        "custom:\n"
        "  - func: f(Tensr x) -> Tensor\n"
        "  - op_api: all_version\n"
        "  - func: g(Tensor x) -> Tensor\n"
        "    op_api: [v2.1]\n"
        "    gen_opapi: {out: {size: y, dtype: x}, exec: aclnnG}\n"
        "  - func: h(Tensor x)\n"
    )
    assert codes(text) == ["OPK011", "OPK017", "OPK006", "OPK202", "OPK010"]


def test_unreadable_schema_does_not_hide_other_mistakes_of_the_entry() -> None:
    text = (
        "custom:\n  - func: f(Tensr x) -> Tensor\n    op_api: [v2.1]\n"
        "    gen_opapi: {out: {size: 'x +', dtype: x}}\n"
    )
    assert sorted(codes(text)) == ["OPK006", "OPK011", "OPK020", "OPK031"]


def version_text(value: str) -> str:
    return (
        f"all_version: [v2.1, v2.2, v2.9, v2.10]\ncustom:\n  - func: f(Tensor x) -> ()\n    op_api: {value}\n"
    )


@pytest.mark.parametrize(
    ("value", "versions"),
    [
        ("all_version", ["v2.1", "v2.2", "v2.9", "v2.10"]),
        ("[v2.2, newest]", ["v2.2", "v2.9", "v2.10"]),
        ("[v2.2, v2.9]", ["v2.2", "v2.9"]),
        ("v2.1", ["v2.1"]),
        ("v2.1, v2.10", ["v2.1", "v2.10"]),
        ("'v2.1,v2.2'", ["v2.1", "v2.2"]),
    ],
)
def test_versions(value: str, versions: list[str]) -> None:
    assert list(read(version_text(value)).operators[0].op_api) == versions


@pytest.mark.parametrize(("value", "is_for_all"), [("True", True), ("False", False)])
def test_booleans_are_torch_npu_s(value: str, is_for_all: bool) -> None:
    text = version_text(value)
    found = read(text.partition("\n")[2]).operators[0].op_api
    assert (len(found) > 10) == is_for_all
    assert codes(text) == ["OPK006"]


def test_an_entry_needs_a_kernel() -> None:
    text = version_text("all_version").replace("op_api", "exposed")
    assert codes(text) == ["OPK006"]
    assert codes(text.partition("\n")[2]) == []


def test_torch_npu_names_operators_of_torch() -> None:
    text = "supported:\n  - abs\n  - func: copy_\n    op_api: True\ncustom:\n  - func: f(Tensor x) -> ()\n"
    assert [op.name for op in read(text).operators] == ["f"]


@pytest.mark.parametrize(
    ("value", "severity", "versions"),
    [
        ("[v2.1]", "error", []),
        ("[v2.1, v2.2, v2.9]", "error", []),
        ("[v1.11, newest]", "error", []),
        ("[v2.9, v2.1]", "warning", []),
        ("v2.1,newest", "warning", ["v2.1"]),
        ("'v2.1, v2.2,v2.9'", "warning", ["v2.1"]),
        ("v3.0", "error", []),
        ("2.10", "error", []),
        ("{a: b}", "error", []),
    ],
)
def test_version_mistakes(value: str, severity: str, versions: list[str]) -> None:
    op_file, (found,) = read_text(version_text(value), "ops.yaml")
    assert (found.code, found.severity.value) == ("OPK006", severity)
    assert op_file is not None
    assert list(op_file.operators[0].op_api) == versions


def test_torch_version_selects() -> None:
    text = (
        "custom:\n"
        "  - func: f(Tensor x) -> ()\n    op_api: [v2.1, v2.12]\n"
        "  - func: f(Tensor x, int n) -> ()\n    op_api: [v2.13, newest]\n"
        "  - func: g(Tensor x) -> ()\n"
    )
    assert [str(o.schema) for o in read(text, "2.13.0+cpu").operators] == [
        "f(Tensor x, int n) -> ()",
        "g(Tensor x) -> ()",
    ]
    assert len(read(text).operators) == 3


def test_a_torch_version_the_file_does_not_list() -> None:
    text = "all_version: [v2.1, v2.2]\ncustom:\n  - func: f(Tensor x) -> ()\n    op_api: all_version\n"
    op_file, (found,) = read_text(text, "ops.yaml", "2.3")
    assert op_file is not None
    assert op_file.operators == ()
    assert (found.code, found.severity) == ("OPK006", Severity.WARNING)
    assert len(read(text.replace("    op_api: all_version\n", ""), "2.3").operators) == 1


def test_dimname() -> None:
    entry = (
        "custom:\n  - func: f(Tensor x, Dimname d) -> Tensor\n    op_api: {}\n  - func: g(Tensor x) -> ()\n"
    )
    assert codes(entry.format("[v2.1, v2.12]")) == []
    assert codes(entry.format("[v2.1, v2.12]"), "2.13") == []
    (found,) = findings(entry.format("all_version"))
    assert (found.code, found.severity) == ("OPK012", Severity.WARNING)
    assert found.mark is not None
    assert found.mark.line == 2
    op_file, (found,) = read_text(entry.format("all_version"), "ops.yaml", "2.13")
    assert found.severity is Severity.ERROR
    assert op_file is not None
    assert op_file.operator("g") is not None


def test_symint_is_a_flag() -> None:
    entry = "  - func: f(Tensor x, SymInt n) -> ()\n    op_api: all_version\n"
    op_file = read(f"custom:\n{entry}symint:\n{entry}")
    (op,) = op_file.operators
    assert op.section == "custom"
    assert dict(op.extra)["symint"] is True


def test_torch_npus_own_yaml() -> None:
    text = (
        "backend: NPU\ncpp_namespace: at_npu::native\nsupported:\n  - abs\n"
        "  - func: add.Tensor(Tensor self, Tensor other) -> Tensor\n    op_api: True\n"
        "custom:\n  - npu_change(Tensor(a!) self) -> ()\n"
    )
    assert [(o.name, o.section) for o in read(text).operators] == [
        ("add.Tensor", "official"),
        ("npu_change", "custom"),
    ]


def test_file_of_the_first_stage() -> None:
    text = "custom:\n  - func: f(Tensor x) -> ()\n    impl_ns: acl_op, op_api\n"
    (op,) = read(text).operators
    assert op.op_api == op.acl_op == read(text).all_versions


def test_inherited_rule() -> None:
    text = (
        "custom:\n"
        "  - func: f.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)\n"
        "    gen_opapi: {out: {size: x, dtype: x}, exec: aclnnF}\n"
        "  - func: f(Tensor x) -> Tensor\n"
        "    gen_opapi: {structured_inherit: f.out}\n"
    )
    assert codes(text) == []
    (found,) = findings(text.replace("inherit: f.out", "inherit: f.ot"))
    assert found.code == "OPK033"
    assert "f.out" in found.help


def test_merge_keys_and_anchors() -> None:
    text = (
        "custom:\n  - &base\n    func: f(Tensor x) -> ()\n    op_api: all_version\n"
        "  - <<: *base\n    func: g(Tensor x) -> ()\n"
    )
    assert [(o.name, len(o.op_api)) for o in read(text).operators] == [("f", 15), ("g", 15)]


@pytest.mark.parametrize("tags", ["&t [*t]", "&t [*t, *t]", "&t {a: [*t]}"])
def test_anchor_that_contains_itself(tags: str) -> None:
    found = findings(f"custom:\n  - func: f(Tensor x) -> ()\n    tags: {tags}\n")
    assert [d.code for d in found] == ["OPK004"]
    assert "or no end" in found[0].message


def test_aliases_that_grow_without_bound() -> None:
    lines = ["custom:", "  - {func: 'f0(Tensor x) -> ()', cases: &c0 [1, 2]}"]
    for n in range(1, 11):
        nine = ", ".join([f"*c{n - 1}"] * 9)
        lines.append(f"  - {{func: 'f{n}(Tensor x) -> ()', cases: &c{n} [{nine}]}}")
    (found,) = findings("\n".join(lines))
    assert (found.code, found.mark and found.mark.line) == ("OPK004", 8)


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("custom: !!python/object/apply:os.system ['touch it']", "python/object/apply:os.system"),
        ("custom:\n  - func: f(Tensor(a!) x) -> ()\n    side_effect: !mine true", "!mine"),
        ("custom:\n  - !!set {func: f(Tensor x) -> ()}", "2002:set"),
    ],
)
def test_tags_of_other_programs(text: str, tag: str) -> None:
    found = [d for d in findings(text) if d.code == "OPK004"]
    assert tag in found[0].message
    assert found[0].severity is Severity.ERROR


def test_a_plain_tag_is_no_finding() -> None:
    assert read("custom:\n  - func: !!str f(Tensor(a!) x) -> ()\n").operators[0].name == "f"


def test_suppressions() -> None:
    text = (
        "custom:\n"
        "  # opkit: ignore[OPK101]\n"
        "  - func: f(Tensor x) -> ()\n"
        "    op_api: all_version\n"
        "  - func: g(Tensor x) -> ()  # opkit: ignore[OPK102, OPK104]\n"
        "    op_api: all_version\n"
        "  - func: h(Tensor x) -> ()\n"
    )
    assert [(s.codes, s.first_line, s.last_line) for s in read(text).suppressions] == [
        (("OPK101",), 2, 4),
        (("OPK102", "OPK104"), 5, 6),
    ]


@pytest.mark.parametrize(
    ("lines", "known"),
    [
        ("meta: {lett: {n: x.size(0)}, out: {size: '[n]', dtype: x}}", "let"),
        ("gen_opapi: {new_param: {n: x.size(0)}, out: {size: x, dtype: x}, exec: aclnnF}", "new_params"),
    ],
)
def test_a_misspelled_key_that_looks_like_a_result(lines: str, known: str) -> None:
    _, found = read_text(f"custom:\n  - func: f(Tensor x) -> Tensor\n    {lines}\n", "ops.yaml")
    assert [d.help for d in found] == [f"did you mean '{known}'?"]
    assert found[0].severity is Severity.ERROR


def test_a_result_may_be_named_like_a_key() -> None:
    _, found = read_text(
        "custom:\n  - func: f(Tensor x) -> Tensor\n    meta: {lett: {size: x, dtype: x}}\n", "ops.yaml"
    )
    assert found == ()
