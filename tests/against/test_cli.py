"""`opkit check --against`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from opkit.cli.main import main

YAML = "custom:\n  - func: f(Tensor x, str layout='BSND') -> Tensor\n    meta: {out: {size: x, dtype: x}}\n"
META = """\
import torch
from torch.library import Library, impl
raise SystemExit("this file is read, not run")
m = Library("npu", "IMPL", "Meta")

@impl(m, "f")
def f_meta(x, layout={}):
    return torch.empty_like(x)
"""


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ops.yaml").write_text(YAML)
    (tmp_path / "metas").mkdir()
    (tmp_path / "metas" / "good.py").write_text(META.format("'BSND'"))
    (tmp_path / "metas" / "bad.py").write_text(META.format("'BSH'"))
    (tmp_path / "cpp").mkdir()
    (tmp_path / "cpp" / "f.cpp").write_text(
        "at::Tensor f(const at::Tensor& x, std::string s) { return x; }\n"
    )
    return tmp_path


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(main, arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def test_exit_codes() -> None:
    assert run("check", "ops.yaml").exit_code == 0
    assert run("check", "ops.yaml", "--against", "metas/good.py").exit_code == 0
    assert run("check", "ops.yaml", "--against", "metas/bad.py").exit_code == 1
    missing = run("check", "ops.yaml", "--against", "metas/none.py")
    assert missing.exit_code == 2
    assert "no such file or directory: metas/none.py" in missing.output


def test_both_places_are_shown() -> None:
    output = run("check", "ops.yaml", "--against", "metas/bad.py").output
    assert (
        "OPK223 error: `layout` of the Meta kernel of f defaults to 'BSH', in the schema to 'BSND'" in output
    )
    assert " --> metas/bad.py:7:22\n" in output
    assert "def f_meta(x, layout='BSH'):\n  |                      ^^^^^\n" in output
    assert "note: the schema\n --> ops.yaml:2:23\n" in output
    assert "1 error" in output


def test_several_sources_are_merged() -> None:
    arguments = ("check", "ops.yaml", "--against", "metas", "--against", "cpp", "--format", "json")
    found = json.loads(run(*arguments).output)
    places = [(d["code"], d["location"]["file"]) for d in found if d["severity"] != "note"]
    expected = [
        ("OPK223", "metas/bad.py"),
        ("OPK228", "metas/good.py"),
        ("OPK240", "cpp/f.cpp"),
    ]
    assert places == expected


def test_ignored_codes(directory: Path) -> None:
    pytest.importorskip("tomllib" if sys.version_info >= (3, 11) else "tomli")
    (directory / "pyproject.toml").write_text('[tool.opkit]\nignore = ["OPK223"]\n')
    assert run("check", "ops.yaml", "--against", "metas/bad.py").exit_code == 0


def test_never_imports_torch() -> None:
    script = (
        "import sys\nfrom opkit.cli.main import main\n"
        "try:\n    main(['check', 'ops.yaml', '--against', 'metas/bad.py'])\n"
        "except SystemExit as end:\n    assert end.code == 1\n"
        "print([m for m in ('torch', 'torch_npu', 'numpy', 'metas') if m in sys.modules])\n"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.splitlines()[-1] == "[]"
