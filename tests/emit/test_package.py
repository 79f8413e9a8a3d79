"""Whole packages: their files, staleness, and the hook that waits for torchair."""

from __future__ import annotations

import ast
import subprocess
import sys
import types
from pathlib import Path

import pytest
from declarations import SAMPLE, entry, op_file

from opkit.emit.package import Package, generate
from opkit.errors import OpkitError


def package(directory: Path, text: str = SAMPLE, **options: object) -> Package:
    return generate(op_file(text, str(directory.parent / "ops.yaml")), directory, **options)  # type: ignore[arg-type]


def test_the_files_of_a_package_are_python_and_only_written_when_they_change(tmp_path: Path) -> None:
    directory = tmp_path / "ops"
    made = package(directory)
    assert made.complete
    assert set(made.files) == {
        *("__init__.py", "__init__.pyi", "py.typed", "meta.py", "converters.py", "torchair_hook.py"),
        *("prototypes/my_op.json", "prototypes/my_inplace.json"),
    }
    for name, text in made.files.items():
        if name.endswith((".py", ".pyi")):
            ast.parse(text)
    assert len(made.stale(directory)) == len(made.files)
    assert len(made.write(directory)) == len(made.files)
    assert made.write(directory) == ()
    assert made.stale(directory) == ()
    (directory / "meta.py").write_text("changed")
    assert made.stale(directory) == (directory / "meta.py",)


def test_converters_can_be_left_out(tmp_path: Path) -> None:
    made = package(tmp_path / "ops", with_converters=False)
    assert set(made.files) == {"__init__.py", "__init__.pyi", "py.typed", "meta.py"}
    assert "torchair" not in made.files["__init__.py"]


def test_one_operator_without_a_rule_means_no_files(tmp_path: Path) -> None:
    broken = SAMPLE + "  - func: lost(Tensor x) -> Tensor\n    op_api: all_version\n"
    made = package(tmp_path / "ops", broken)
    assert not made.complete
    assert made.files == {}
    assert [d.operator for d in made.diagnostics if d.code == "OPK201"] == ["lost"]
    with pytest.raises(OpkitError):
        made.write(tmp_path / "ops")
    assert not (tmp_path / "ops").exists()


def test_a_directory_python_cannot_import_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OpkitError, match="not a name Python can import"):
        package(tmp_path / "my-ops")


def test_the_stub_has_overloads_and_defaults(tmp_path: Path) -> None:
    text = entry("f(Tensor x, int? n=None) -> Tensor", "meta: {out: {size: x, dtype: x}}") + (
        "  - func: f.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)\n    op_api: all_version\n"
    )
    stub = package(tmp_path / "ops", text).files["__init__.pyi"]
    assert stub.count("@overload") == 2
    assert "def f(x: Tensor, n: int | None = None) -> Tensor: ..." in stub
    assert "def f(x: Tensor, *, out: Tensor) -> Tensor: ..." in stub


def test_every_file_keeps_the_rules_of_linters(tmp_path: Path) -> None:
    """Defaults that are lists, a schema longer than a line, and dtypes, which need a table of constants."""
    directory = tmp_path / "graph_ops"
    func = (
        "f(Tensor x, int[] axes=[-1], float[2] scales=[1.0,2.0], ScalarType? out_dtype=None, int[]? k=None, "
        'str layout="BSH", bool keep_the_dims=True, int the_last_one_of_many_arguments=3) -> Tensor'
    )
    package(directory, entry(f"'{func}'", "meta: {out: {size: x, dtype: x}}"), style="custom-op").write(
        directory
    )
    ruff = [sys.executable, "-m", "ruff"]
    for command in (
        [*ruff, "check", "--isolated", "--select", "E,F,I,UP,W,B", "--line-length", "100", "."],
        [*ruff, "format", "--isolated", "--diff", "--line-length", "100", "."],
    ):
        done = subprocess.run(command, cwd=directory, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    for name in ("meta.py", "converters.py", "kernels.py", "__init__.pyi"):
        assert "axes: Sequence[int] = (-1,)" in (directory / name).read_text(encoding="utf-8")
    mypy = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=skip", "__init__.pyi"]
    done = subprocess.run(mypy, cwd=directory, capture_output=True, text=True)
    assert "Success" in done.stdout, done.stdout + done.stderr


def test_packages_import_and_offer_their_operators(tmp_path: Path) -> None:
    directory = tmp_path / "graph_ops"
    package(directory).write(directory)
    script = (
        "import sys, torch, graph_ops\n"
        "x = torch.empty(2, 3, device='meta')\n"
        "assert graph_ops.my_op(x, None, [x], 1.0, 2).shape == (2, 3)\n"
        "late = ('torchair', 'torch_npu', 'opkit', 'graph_ops.converters')\n"
        "assert not any(m.startswith(late) for m in sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True)


HOOK = """
import importlib, sys, types
sys.path.insert(0, {directory!r})
order = []
{before}
import torchair_hook
torchair_hook.TORCHAIR = ("a_torchair",)
torchair_hook.import_with_torchair("the_converters")
torchair_hook.import_with_torchair("the_converters")
import importlib.util
importlib.util.find_spec("a_torchair")
{after}
"""


@pytest.mark.parametrize("when", ["before", "after", "never"])
def test_converters_are_imported_with_torchair_and_never_by_themselves(tmp_path: Path, when: str) -> None:
    directory = tmp_path / "ops"
    (tmp_path / "torchair_hook.py").write_text(package(directory).files["torchair_hook.py"])
    (tmp_path / "a_torchair.py").write_text("get_npu_backend = 1\nprint('torchair')\n")
    (tmp_path / "the_converters.py").write_text(
        "import a_torchair\na_torchair.get_npu_backend\nprint('converters')\n"
    )
    script = HOOK.format(
        directory=str(tmp_path),
        before="import a_torchair" if when == "before" else "",
        after="import a_torchair" if when == "after" else "",
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ([] if when == "never" else ["torchair", "converters"])


def test_a_placeholder_for_torchair_is_not_torchair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = package(tmp_path / "ops").files["torchair_hook.py"]
    hook = types.ModuleType("hook")
    exec(text, hook.__dict__)

    class Placeholder:
        def __getattr__(self, name: str) -> object:
            raise AssertionError("touching the placeholder imports torchair")

    monkeypatch.setitem(sys.modules, "torchair", Placeholder())  # type: ignore[arg-type]
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    hook.import_with_torchair("some_converters")
    assert "some_converters" not in sys.modules
