"""`opkit import`: C++ definitions and registered operators become a declaration file that reads back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from opkit.cli.main import main
from opkit.importing import Imported, import_cpp, import_registered
from opkit.read import read_file


def imported(folder: Path, body: str, macro: str = "TORCH_LIBRARY(mine, m)", **options: str) -> Imported:
    path = folder / "ops.cpp"
    path.write_text(f"{macro} {{\n{body}\n}}\n")
    return import_cpp(path, **options)


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["import", *map(str, arguments)])


def codes(found: Imported) -> list[tuple[str, str, int, int]]:
    return [
        (d.code, d.severity.value, d.mark.line, d.mark.column) if d.mark else (d.code, "", 0, 0)
        for d in found.diagnostics
    ]


@pytest.mark.parametrize(
    ("definition", "func"),
    [
        ('m.def("f(Tensor  x)->Tensor");', "mine::f(Tensor x) -> Tensor"),
        ('m.def("f(Tensor x, " // a\n /* b */ "int n) -> Tensor");', "mine::f(Tensor x, int n) -> Tensor"),
        ('m.def(R"s(f.out(Tensor x) -> ())s");', "mine::f.out(Tensor x) -> ()"),
        (r'm.def("f(str s=\"a: b\") -> Tensor");', 'mine::f(str s="a: b") -> Tensor'),
        ('m.def(TORCH_SELECTIVE_SCHEMA("f(Tensor x) -> Tensor"), tags);', "mine::f(Tensor x) -> Tensor"),
        ('m.def("other::f(Tensor x) -> Tensor", &f);', "other::f(Tensor x) -> Tensor"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("macro", ["TORCH_LIBRARY(mine, m)", "TORCH_LIBRARY_FRAGMENT(mine, m)"])
def test_a_definition_reads_back_as_written(tmp_path: Path, definition: str, func: str, macro: str) -> None:
    found = imported(tmp_path, definition, macro)
    assert not found.diagnostics
    path = tmp_path / "ops.yaml"
    path.write_text(found.to_yaml())
    op_file, diagnostics = read_file(path)
    assert not diagnostics
    assert op_file is not None
    [spec] = op_file.operators
    assert spec.section == "custom"
    assert spec.schema.name.namespace == func.partition("::")[0]
    assert str(replace(spec.schema, name=replace(spec.schema.name, namespace=""))) == func.partition("::")[2]


def test_the_order_is_that_of_the_file_and_equal_branches_count_once(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        'm.def("z(Tensor x) -> Tensor");\n#ifdef A\nm.def("y(Tensor x) -> Tensor");\n#else\n'
        'm.def("y( Tensor x ) -> Tensor");\nm.def("a(Tensor x) -> Tensor");\n#endif',
    )
    assert list(found.schemas) == ["mine::z", "mine::y", "mine::a"]
    assert not found.diagnostics


def test_unequal_branches_are_a_warning_that_shows_both(tmp_path: Path) -> None:
    found = imported(
        tmp_path, '#if A\nm.def("f(Tensor x) -> Tensor");\n#else\nm.def("f(Tensor y) -> Tensor");\n#endif'
    )
    assert codes(found) == [("OPK009", "warning", 5, 8)]
    assert found.diagnostics[0].related[0][1].line == 3
    assert "mine::f(Tensor x)" in found.to_yaml()


@pytest.mark.parametrize(
    ("condition", "names"),
    [
        ("0", ["mine::b"]),
        ("false  // kept for later", ["mine::b"]),
        ("1", ["mine::a"]),
        ("0 || A", ["mine::a", "mine::b"]),
        ("10", ["mine::a", "mine::b"]),
    ],
)
def test_what_is_never_compiled_is_not_imported(tmp_path: Path, condition: str, names: list[str]) -> None:
    found = imported(
        tmp_path,
        f'#if {condition}\n#ifdef B\nm.def("a(Tensor x) -> Tensor");\n#endif\n#else\n'
        'm.def("b(Tensor x) -> Tensor");\n#endif',
    )
    assert list(found.schemas) == names
    assert not found.diagnostics


def test_a_definition_in_a_function_that_takes_the_library_is_told(tmp_path: Path) -> None:
    path = tmp_path / "ops.cpp"
    path.write_text('void ops(torch::Library& m) {\n  m.def("f(Tensor x) -> Tensor");\n}\n')
    found = import_cpp(path)
    assert codes(found) == [("OPK220", "warning", 2, 3)]
    assert not found.schemas


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        ('m.def("f(Tensor x, "\n  "Tensr y) -> Tensor");', ("OPK011", "error", 3, 4)),
        (r'm.def("f(str s=\"b\", Tensr y) -> Tensor");', ("OPK011", "error", 2, 23)),
        ('m.def(R"x(f(\nTensr y) -> Tensor)x");', ("OPK011", "error", 3, 1)),
        ('m.def("f", &f);', ("OPK220", "note", 2, 7)),
        ("m.def(SCHEMA);", ("OPK220", "warning", 2, 1)),
        ('m.def("f(" ARGUMENTS ") -> Tensor");', ("OPK220", "warning", 2, 7)),
        ('m.def("f(Tensor x"\n#if A\n", int n"\n#endif\n") -> Tensor");', ("OPK220", "warning", 2, 7)),
    ],
)
def test_what_cannot_be_imported_is_told_with_its_place(
    tmp_path: Path, definition: str, expected: tuple[str, str, int, int]
) -> None:
    found = imported(tmp_path, definition)
    assert codes(found) == [expected]
    assert not found.schemas


def test_a_macro_as_a_namespace_wants_a_name(tmp_path: Path) -> None:
    macro, body = "TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, m)", 'm.def("f(Tensor x) -> Tensor");'
    assert [c[:2] for c in codes(imported(tmp_path, body, macro))] == [("OPK220", "warning")]
    named = imported(tmp_path, body, macro, namespace="mine")
    assert (list(named.schemas), named.diagnostics) == (["mine::f"], [])


def test_a_namespace_the_preprocessor_makes_is_left_out(tmp_path: Path) -> None:
    found = imported(tmp_path, 'm.def("f(Tensor x) -> Tensor");', "TORCH_LIBRARY(lib_##X, m)")
    assert [c[:2] for c in codes(found)] == [("OPK220", "warning")]
    assert not found.schemas


def test_a_block_that_does_not_close_is_not_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "ops.cpp"
    path.write_text('TORCH_LIBRARY(a, m) { m.def("f() -> ()"); }\nTORCH_LIBRARY(b, m) { m.def("g() -> ()");')
    found = import_cpp(path)
    assert list(found.schemas) == ["a::f"]
    assert codes(found) == [("OPK220", "warning", 2, 1)]


def test_the_command_writes_the_rest_and_exits_with_1(tmp_path: Path) -> None:
    imported(tmp_path, 'm.def("f(Tensr x) -> Tensor");\nm.def("g(Tensor x) -> Tensor");')
    result = run(tmp_path / "ops.cpp", "-o", tmp_path / "ops.yaml")
    assert result.exit_code == 1
    assert "ops.cpp:2:10" in result.stderr
    assert (tmp_path / "ops.yaml").read_text() == "custom:\n- func: mine::g(Tensor x) -> Tensor\n"


def test_a_file_with_bad_definitions_only_writes_nothing(tmp_path: Path) -> None:
    imported(tmp_path, 'm.def("f(Tensr x) -> Tensor");')
    assert run(tmp_path / "ops.cpp", "-o", tmp_path / "ops.yaml").exit_code == 1
    assert not (tmp_path / "ops.yaml").exists()


def test_another_file_is_overwritten_with_force_only(tmp_path: Path) -> None:
    imported(tmp_path, 'm.def("g(Tensor x) -> Tensor");')
    source, target = tmp_path / "ops.cpp", tmp_path / "ops.yaml"
    printed = run(source)
    assert printed.exit_code == 0
    target.write_text("mine\n")
    assert run(source, "-o", target).exit_code == 2
    assert target.read_text() == "mine\n"
    assert run(source, "-o", target, "--force").exit_code == 0
    assert target.read_text() == printed.stdout
    assert run(source, "-o", target).exit_code == 0


def test_nothing_to_import_exits_with_2(tmp_path: Path) -> None:
    (tmp_path / "ops.cpp").write_text("int main() { return 0; }\n")
    result = run(tmp_path / "ops.cpp", "-o", tmp_path / "ops.yaml")
    assert (result.exit_code, "defines no operator" in result.stderr) == (2, True)
    assert not (tmp_path / "ops.yaml").exists()
    assert run(tmp_path / "missing.cpp").exit_code == 2
    assert run(tmp_path / "ops.cpp", "--load", "x.so").exit_code == 2


@pytest.mark.npu
def test_a_registered_namespace_is_imported_and_reads_back(tmp_path: Path) -> None:
    module = tmp_path / "defines_imported.py"
    module.write_text(
        'import torch\nlib = torch.library.Library("imported", "DEF")\n'
        'lib.define("second(Tensor(a!) x) -> ()")\n'
        "lib.define(\"first.out(Tensor x, *, str s='a: b', float eps=1e-5) -> Tensor\")\n"
    )
    result = run("torch.ops.imported", "--load", module, "-o", tmp_path / "ops.yaml")
    assert result.exit_code == 0, result.stderr
    op_file, diagnostics = read_file(tmp_path / "ops.yaml")
    assert op_file is not None
    assert not diagnostics
    names = [spec.schema.name.qualified for spec in op_file.operators]
    assert names == ["imported::first.out", "imported::second"]
    assert run("torch.ops.imported").exit_code == 2


@pytest.mark.npu
def test_all_of_torch_npu_reads_back(tmp_path: Path) -> None:
    path = tmp_path / "npu.yaml"
    found = import_registered("npu")
    path.write_text(found.to_yaml())
    op_file, diagnostics = read_file(path)
    assert op_file is not None
    assert len(op_file.operators) == len(found.schemas) > 300
    assert not [d for d in diagnostics if d.severity.value == "error"]
