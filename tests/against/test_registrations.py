"""Every form in which a Meta kernel, a fake kernel or a converter is registered is found."""

from __future__ import annotations

from pathlib import Path

import pytest
from comparing import HEAD, against, codes

from opkit.against.python_source import PythonSource
from opkit.against.registrations import find_registrations, may_register


def found(code: str, path: str = "metas.py") -> list[str]:
    """Kind, operator and function of each registration."""
    result = find_registrations(PythonSource(path, code))
    assert not result.unclear
    return [
        f"{r.kind.name} {r.namespace}::{r.name} {getattr(r.function, 'name', type(r.function).__name__)}"
        for r in result.registrations
    ]


FORMS = (Path(__file__).parent / "forms.txt").read_text(encoding="utf-8").split("\n----\n")


@pytest.mark.parametrize("form", FORMS, ids=range(len(FORMS)))
def test_form(form: str) -> None:
    expected = [line[len("# -> ") :] for line in form.splitlines() if line.startswith("# -> ")]
    assert found(form) == expected
    assert may_register(form) or not expected


def test_a_library_of_another_module(tmp_path: Path) -> None:
    (tmp_path / "_lib.py").write_text('import torch\nlib = torch.library.Library("npu", "FRAGMENT")\n')
    code = "from ._lib import lib as library\nimport torch\n"
    code += '@torch.library.impl(library, "f", "Meta")\ndef g(x): ...\n'
    assert found(code, str(tmp_path / "metas.py")) == ["META npu::f g"]


def test_what_cannot_be_told_is_said(tmp_path: Path) -> None:
    code = 'import torch\nlib = torch.library.Library("npu", "FRAGMENT")\n'
    code += 'for name in NAMES:\n    lib.impl(name, g, "Meta")\nlib.impl("f", imported, "Meta")\n'
    diagnostics = against(tmp_path, "f(Tensor x) -> Tensor", code)
    assert codes(diagnostics) == ["OPK220 note", "OPK220 note"]
    assert "1 registration whose operator" in diagnostics[0].message
    assert "f is not in this file" in diagnostics[1].message


def test_a_file_that_is_no_python(tmp_path: Path) -> None:
    (found,) = against(tmp_path, "f(Tensor x) -> Tensor", "def f(:\n")
    assert (found.code, found.severity.value) == ("OPK220", "error")
    assert found.mark is not None
    assert found.mark.line == 1


def test_marks_count_characters(tmp_path: Path) -> None:
    code = HEAD + '@impl(m, "f")\ndef g(x, 模式="é", n=2): raise ValueError\n'
    (found,) = against(tmp_path, 'f(Tensor x, str s="é", int n=1) -> Tensor', code)[:1]
    assert found.mark is not None
    assert found.mark.column == len('def g(x, 模式="é", n=') + 1
