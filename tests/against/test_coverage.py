"""Operators without a Meta kernel, with two, and registrations of no operator; silencing; finding sources."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from comparing import HEAD, against, codes, declared

from opkit.against import compare
from opkit.against.sources import find_sources
from opkit.errors import OpkitError

META = '@impl(m, "{0}")\ndef {0}_meta(x):\n    return torch.empty_like(x)\n'


def test_operators_without_meta_are_one_finding(tmp_path: Path) -> None:
    op_file = declared(
        "f(Tensor x) -> Tensor",
        "g(Tensor x) -> Tensor",
        "h(Tensor x) -> (Tensor, Tensor)",
        "writes(Tensor(a!) x) -> ()",
        "ruled(Tensor x) -> Tensor\nmeta: {out: {size: x, dtype: x}}",
        "composite(Tensor x) -> Tensor\ndispatch: {CompositeExplicitAutograd: composite}",
        "silent(Tensor x) -> Tensor  # opkit: ignore[OPK227]",
    )
    (found,) = against(tmp_path, op_file, HEAD + META.format("f"))
    assert codes([found]) == ["OPK227 warning"]
    assert found.message == "2 operators that return something have no Meta kernel in the sources: g, h"
    assert found.mark is not None
    assert found.mark.file == "ops.yaml"


def test_sources_of_converters_only_lack_no_meta(tmp_path: Path) -> None:
    code = "import torch\n@register_fx_node_ge_converter(torch.ops.npu.f.default)\ndef f(x): ...\n"
    assert against(tmp_path, declared("f(Tensor x) -> Tensor", "g(Tensor x) -> Tensor"), code) == []


def test_a_converter_of_no_overload_is_never_found(tmp_path: Path) -> None:
    code = "import torch\n@register_fx_node_ge_converter(torch.ops.npu.f)\ndef f(x): ...\n"
    (found,) = against(tmp_path, declared("f(Tensor x) -> Tensor"), code)
    assert codes([found]) == ["OPK226 warning"]
    assert found.help == "write torch.ops.npu.f.default"


A = "@impl(m, 'f')\ndef a(x): raise ValueError\n"
IF = "if {}:\n    @impl(m, 'f')\n    def b(x): raise ValueError\n"


@pytest.mark.parametrize(
    ("code", "found"),
    [
        (A + A, ["OPK228 error"]),
        (A + IF.format("N"), ["OPK228 error"]),
        (IF.format("N") + IF.format("N").replace("if N", "else"), []),
        (IF.format("N") + IF.format("M"), []),
        (A + A.replace("impl(m, 'f')", "torch.library.impl(m, 'f', 'CPU')"), []),
    ],
)
def test_twice(tmp_path: Path, code: str, found: list[str]) -> None:
    diagnostics = against(tmp_path, "f(Tensor x) -> Tensor", HEAD + code)
    assert codes(diagnostics) == found
    assert all(d.related[0][0] == "the first one" for d in diagnostics)


def test_names_that_are_not_declared(tmp_path: Path) -> None:
    code = HEAD + META.format("store_blocks") + META.format("store_block_pre")
    code += 'lib = torch.library.Library("npu", "FRAGMENT")\nlib.define("own(Tensor x) -> Tensor")\n'
    code += '@impl(lib, "own", "Meta")\ndef own(x): return torch.empty_like(x)\n'
    code += 'a = Library("aten", "IMPL", "Meta")\n@impl(a, "mm")\ndef mm(x): return x\n'
    found = against(tmp_path, "store_blocks(Tensor x) -> Tensor", code)
    assert codes(found) == ["OPK226 warning", "OPK226 note"]
    assert "npu::store_block_pre" in found[0].message
    assert "store_blocks" in found[0].help
    assert "namespace aten" in found[1].message


def test_a_custom_operator_is_not_one_of_aten(tmp_path: Path) -> None:
    code = 'import torch\n@torch.library.impl("aten::f", "Meta")\ndef f(x, y): raise ValueError\n'
    assert codes(against(tmp_path, "f(Tensor x) -> ()", code)) == ["OPK226 note"]
    assert codes(against(tmp_path, "f(Tensor x) -> ()", code.replace("aten", "mine"))) == ["OPK221 error"]


def test_an_official_operator_is_torchs(tmp_path: Path) -> None:
    from opkit.read import read_text

    op_file, _ = read_text("official:\n  - func: mm(Tensor self, Tensor mat2, int n=1) -> Tensor\n", "o.yaml")
    assert op_file is not None
    code = HEAD + '@impl(Library("aten", "IMPL", "Meta"), "x")\ndef x(): ...\n'
    code = HEAD + 'a = Library("aten", "IMPL", "Meta")\n@impl(a, "mm")\ndef mm(x, y, n=2): raise ValueError\n'
    assert codes(against(tmp_path, op_file, code)) == ["OPK223 error", "OPK224 note"]
    assert codes(against(tmp_path, op_file, code.replace("aten", "npu"))) == ["OPK226 note"]


@pytest.mark.parametrize(
    ("yaml", "code"),
    [
        ("f(Tensor x, int n=1) -> Tensor  # opkit: ignore[OPK223]", "def f(x, n=2): raise ValueError"),
        ("f(Tensor x, int n=1) -> Tensor", "def f(x, n=2): raise ValueError  # opkit: ignore[OPK223]"),
        (
            "f(Tensor x, int n=1) -> Tensor",
            "def f(  # opkit: ignore[OPK229, OPK223]\n    x,\n    n=2,\n): raise ValueError",
        ),
    ],
)
def test_comments_silence(tmp_path: Path, yaml: str, code: str) -> None:
    decorated = HEAD + '@impl(m, "f")\n'
    assert against(tmp_path, yaml, decorated + code) == []
    loud = code.replace("OPK223", "OPK222"), yaml.replace("OPK223", "OPK222")
    assert codes(against(tmp_path, loud[1], decorated + loud[0])) == ["OPK223 error"]


def test_a_file_is_compared_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "metas.py").write_text(HEAD + '@impl(m, "f")\ndef f(x, y): raise ValueError\n')
    op_file = declared("f(Tensor x) -> Tensor")
    assert codes(compare([op_file], ["metas.py", ".", str(tmp_path / "metas.py")])) == ["OPK221 error"]


def test_encodings(tmp_path: Path) -> None:
    op_file = declared("f(Tensor x) -> Tensor")
    python = HEAD + '# 中文\n@impl(m, "f")\ndef f(x, y): raise ValueError\n'
    (tmp_path / "a.py").write_bytes(b"# coding: gbk\r\n" + python.encode("gbk"))
    (tmp_path / "b.py").write_bytes(b"\xef\xbb\xbf" + python.replace("\n", "\r\n").encode())
    (tmp_path / "c.py").write_bytes(python.encode("gbk"))
    (tmp_path / "d.cpp").write_bytes("// 中文\nat::Tensor f(at::Tensor x) { return x; }\n".encode("gbk"))
    found = [codes(compare([op_file], [str(tmp_path / name)])) for name in ("a.py", "b.py", "c.py", "d.cpp")]
    assert found == [["OPK221 error"], ["OPK221 error"], ["OPK220 error"], ["OPK240 error"]]


def test_find_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "opkit_test_package"
    (package / "inner").mkdir(parents=True)
    (package / ".hidden").mkdir()
    for name in (
        "__init__.py",
        "inner/__init__.py",
        "inner/metas.py",
        "kernel.cpp",
        "notes.txt",
        ".hidden/x.py",
    ):
        # Importing anything would stop here.
        (package / name).write_text("raise SystemExit('imported')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    inner = package / "inner"
    assert find_sources("opkit_test_package.inner.metas") == [inner / "metas.py"]
    assert find_sources("opkit_test_package.inner") == [inner / "__init__.py", inner / "metas.py"]
    assert find_sources(str(inner / "metas.py")) == [inner / "metas.py"]
    everything = ["__init__.py", "inner/__init__.py", "inner/metas.py", "kernel.cpp"]
    assert [p.relative_to(package).as_posix() for p in find_sources(str(package))] == everything
    assert "opkit_test_package" not in sys.modules


@pytest.mark.parametrize("name", ["no/such.py", "no_such_module", "json.no_such", "math", "", "empty"])
def test_no_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OpkitError):
        compare([declared("f(Tensor x) -> Tensor")], [name])
