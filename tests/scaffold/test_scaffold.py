"""`opkit scaffold`: what it writes, what it refuses, and that its tests judge the package's own files."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner, Result

from opkit.cli.main import main
from opkit.model.operator import Case, TensorSpec
from opkit.read import read_file
from opkit.scaffold.answers import check_answers
from opkit.scaffold.create import RECORD


def scaffold(*words: str) -> Result:
    return CliRunner().invoke(main, ["scaffold", *words])


def files(directory: Path) -> set[str]:
    return {p.relative_to(directory).as_posix() for p in directory.rglob("*") if p.is_file()}


def opkit(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "opkit", *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300)


FILES = {
    RECORD,
    "README.md",
    "README.zh.md",
    "my_op_ops/__init__.py",
    "my_op_ops/__init__.pyi",
    "my_op_ops/converters.py",
    "my_op_ops/meta.py",
    "my_op_ops/prototypes/my_op.json",
    "my_op_ops/py.typed",
    "my_op_ops/torchair_hook.py",
    "ops.yaml",
    "pyproject.toml",
    "reference.py",
    "op_plugin.schema.json",
    "run_ge.py",
    "run_npugraph_ex.py",
    "tests/test_my_op.py",
}


@pytest.mark.parametrize("style", ["library", "custom-op"])
def test_a_whole_package_comes_of_a_name(tmp_path: Path, style: str) -> None:
    target = tmp_path / "deep" / "my_op"
    result = scaffold("my_op", "--style", style, "-o", str(target))
    assert result.exit_code == 0, result.output
    assert files(target) == FILES | ({"my_op_ops/kernels.py"} if style == "custom-op" else set())
    assert list(target.parent.iterdir()) == [target], "the working directory is gone"
    for path in target.rglob("*.py"):
        compile(path.read_text(encoding="utf-8"), str(path), "exec")
    assert opkit("check", "ops.yaml", cwd=target).returncode == 0
    done = opkit("gen", "ops.yaml", "-o", "my_op_ops", "--check", "--style", style, cwd=target)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_same_request_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        assert scaffold("my_op", "-o", str(tmp_path / name)).exit_code == 0
    for name in FILES:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_the_record_holds_the_answers(tmp_path: Path) -> None:
    schema = "my_op(Tensor(a!) x, int n=3) -> ()"
    assert scaffold("mylib::my_op", "--schema", schema, "-o", str(tmp_path / "p")).exit_code == 0
    record = json.loads((tmp_path / "p" / RECORD).read_text(encoding="utf-8"))
    assert record["template"] == "op_package"
    assert record["template_version"]
    assert record["answers"] == {
        "name": "my_op",
        "schema": schema,
        "style": "library",
        "namespace": "mylib",
    }


@pytest.mark.parametrize(
    "schema",
    [
        "(Tensor x, Tensor? y, Tensor[] z, float attr1, int attr2) -> Tensor",
        'my_op(Tensor x, *, int[2] k=1, str t="a: #c", bool b=True, ScalarType? d=None) -> (Tensor, Tensor)',
        "my_op(Tensor B, Tensor(a!) N, Tensor(b!) M) -> Tensor",
        "npu::my_op(Tensor(a!) x) -> ()",
        "my_op(Tensor x, SymInt n, SymInt[] k, float[] f, bool[] b, Scalar s, str t) -> Tensor",
        "my_op(Tensor out, Tensor result) -> Tensor",
    ],
)
def test_schemas_of_many_kinds(tmp_path: Path, schema: str) -> None:
    target = tmp_path / "p"
    result = scaffold("my_op", "--schema", schema, "-o", str(target))
    assert result.exit_code == 0, result.output
    done = CliRunner().invoke(main, ["check", str(target / "ops.yaml")])
    assert done.exit_code == 0, done.output


def cases_of(tmp_path: Path, schema: str) -> tuple[Case, ...]:
    assert scaffold("my_op", "--schema", schema, "-o", str(tmp_path / "p")).exit_code == 0
    op_file, _ = read_file(tmp_path / "p" / "ops.yaml")
    assert op_file is not None
    return op_file.operators[0].cases


def test_no_size_and_no_attribute_of_a_case_can_be_hard_coded(tmp_path: Path) -> None:
    schema = (
        '(Tensor B, int a, int b=6, float e=3.5, str s="c", bool f=True, int[] k=[6,7], int? o=8) -> Tensor'
    )
    full, bare = cases_of(tmp_path, schema)
    given = dict(full.inputs)
    x = given.pop("B")
    assert isinstance(x, TensorSpec)
    assert len(x.dims) == 2
    assert set(x.dims) == set(dict(full.dims))
    assert "B" not in x.dims
    assert all(len(set(sizes)) == 3 for _, sizes in full.dims)
    assert list(given) == ["a", "b", "e", "s", "f", "k", "o"]
    schema_ = check_answers("my_op", schema, False, "library", None)[0].schema  # type: ignore[union-attr]
    defaults = {a.name: a.default.value for a in schema_.arguments if a.default}
    assert all(given[name] != default for name, default in defaults.items())
    assert given["a"] != given["b"]
    assert [name for name, _ in bare.inputs] == ["B", "a"]


def test_tensors_named_like_indices_are_integers(tmp_path: Path) -> None:
    schema = "(Tensor slot_mapping, Tensor(a!) cache, Tensor x, Tensor[] seq_lens, Tensor? y_idx) -> Tensor"
    (full, _) = cases_of(tmp_path, schema)
    dtypes = {}
    for name, value in full.inputs:
        value = value[0] if isinstance(value, tuple) else value
        assert isinstance(value, TensorSpec)
        dtypes[name] = value.dtype
    whole = {n for n, dtype in dtypes.items() if dtype == "int64"}
    assert whole == {"slot_mapping", "seq_lens", "y_idx"}
    text = (tmp_path / "p" / "ops.yaml").read_text(encoding="utf-8")
    assert "out: {size: cache, dtype: cache}" in text
    assert "result = cache.clone()" in (tmp_path / "p" / "reference.py").read_text(encoding="utf-8")


def test_the_reference_lets_tensors_numbers_and_text_count(tmp_path: Path) -> None:
    schema = "(Tensor x, int a, float[] b, str s, str[] t, bool c, Tensor? y) -> Tensor"
    assert scaffold("my_op", "--schema", schema, "-o", str(tmp_path / "p")).exit_code == 0
    names: dict[str, Any] = {}
    exec((tmp_path / "p" / "reference.py").read_text(encoding="utf-8"), names)
    x = torch.ones(2)
    given = {"a": 1, "b": [1.0], "s": "a", "t": ["a"], "c": True, "y": x}
    base = names["my_op"](x, **given)
    for name, other in {"a": 2, "b": [2.0], "s": "b", "t": ["b"], "c": False, "y": None}.items():
        assert not torch.equal(names["my_op"](x, **{**given, name: other}), base), name


@pytest.mark.parametrize("name", ["torch", "torch_npu", "torchair", "opkit", "json", "sys"])
def test_a_directory_that_hides_a_module_is_refused(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = scaffold(name)
    assert result.exit_code == 1
    assert f"would be taken for the Python module {name!r}" in result.output
    assert list(tmp_path.iterdir()) == []
    assert scaffold(name, "-o", f"{name}_op").exit_code == 0


def test_an_installed_custom_op_package_needs_nothing_outside(tmp_path: Path) -> None:
    """The package alone, as a wheel has it: the operator asks for its kernel, never computes on the CPU."""
    assert scaffold("my_op", "--style", "custom-op", "-o", str(tmp_path / "p")).exit_code == 0
    site = tmp_path / "site"
    site.mkdir()
    (tmp_path / "p" / "my_op_ops").rename(site / "my_op_ops")
    shutil.rmtree(tmp_path / "p")
    script = (
        "import torch, my_op_ops\n"
        "x = torch.empty(2, 3, device='meta')\n"
        "assert my_op_ops.my_op(x, x).shape == (2, 3)\n"
        "try:\n    my_op_ops.meta.my_op._init_fn(torch.ones(2), torch.ones(2))\n"
        "except NotImplementedError as error:\n    print(error)\n"
    )
    environment = {**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=site, env=environment, capture_output=True, text=True)
    assert done.stdout == "write the NPU kernel of mylib::my_op in kernels.py\n", done.stderr


def test_what_ge_cannot_take_still_gets_a_package_for_npugraph_ex(tmp_path: Path) -> None:
    target = tmp_path / "p"
    result = scaffold("my_op", "--schema", "my_op(Tensor x, Tensor(a!)[] y) -> ()", "-o", str(target))
    assert result.exit_code == 0, result.output
    assert "OPK302 warning" in result.output
    assert "run_ge.py" not in files(target)
    assert '"mode", ["npugraph_ex"]' in (target / "tests" / "test_my_op.py").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["my-op"], "operator name 'my-op' is not an identifier"),
        (["1op"], "is not an identifier"),
        ([""], "is not an identifier"),
        (["lambda"], "is a Python keyword"),
        (["__x"], "is reserved"),
        (["aten::x"], "belongs to torch"),
        (["x", "--namespace", "my lib"], "namespace 'my lib' is not an identifier"),
        (["a::x", "--namespace", "b"], "--namespace says 'b'"),
        (["x", "--schema", "y(Tensor a) -> Tensor"], "the schema is of 'y', not of 'x'"),
        (["x", "--schema", "x.o(Tensor a) -> Tensor"], "without overloads"),
        (["x", "--schema", "x(Tensr a) -> Tensor"], "Tensr"),
        (["x", "--schema", "x(Tensor a"], "found the end of the text"),
        (["x", "--schema", "x(Tensor a) -> Tensor", "--in-place"], "writes no argument"),
        (["x", "--schema", "x(Tensor from) -> Tensor"], "'from' is a Python keyword"),
        (["x", "--schema", "x(Tensor a) -> ()"], "returns nothing and writes nothing"),
        (["x", "--schema", "x(int a) -> Tensor"], "no argument is a plain Tensor"),
        (["x", "--schema", "x(Tensor a) -> Tensor[]"], "writes no rule for a result of type Tensor[]"),
        (["x", "--schema", "x(Tensor(a!) a) -> Tensor(a!)"], "return nothing, `-> ()`"),
        (["x", "--schema", "x(Tensor a, Device d) -> Tensor"], "no test value is known for Device d"),
    ],
)
def test_a_bad_request_is_explained_and_leaves_nothing(
    tmp_path: Path, words: list[str], message: str
) -> None:
    result = scaffold(*words, "-o", str(tmp_path / "p"))
    assert result.exit_code == 1, result.output
    assert message in result.output
    assert "Traceback" not in result.output
    assert list(tmp_path.iterdir()) == []


def test_the_caret_stands_under_what_was_typed() -> None:
    for typed in ("x(Tensor a, Device d) -> Tensor", "(Tensor a, Device d) -> Tensor"):
        lines = scaffold("x", "--schema", typed).output.splitlines()
        excerpt = next(i for i, line in enumerate(lines) if typed in line)
        caret = lines[excerpt + 1]
        assert typed[caret.index("^") - 4 : caret.rindex("^") - 3].startswith("Device d")


def test_all_mistakes_are_told_at_once() -> None:
    answers, found = check_answers("my-op", None, False, "library", "a b")
    assert answers is None
    assert len(found) == 2


def test_an_existing_directory_is_never_touched(tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "mine.txt").write_text("mine", encoding="utf-8")
    result = scaffold("my_op", "-o", str(tmp_path / "p"))
    assert result.exit_code == 2
    assert "is not empty" in result.output
    assert files(tmp_path) == {"p/mine.txt"}


def test_an_empty_directory_is_taken_and_a_file_is_not(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert scaffold("my_op", "-o", str(tmp_path / "empty")).exit_code == 0
    assert files(tmp_path / "empty") == FILES
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert scaffold("my_op", "-o", str(tmp_path / "file")).exit_code == 2


def test_a_failure_on_the_way_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> str:
        raise OSError(28, "No space left on device", "run_ge.py")

    monkeypatch.setattr("opkit.emit.mre.emit", fail)
    result = scaffold("my_op", "-o", str(tmp_path / "p"))
    assert result.exit_code == 2
    assert "No space left" in result.output
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_written_in_the_home_directory(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    command = [sys.executable, "-m", "opkit", "scaffold", "my_op", "-o", str(tmp_path / "p")]
    subprocess.run(command, check=True, env={**os.environ, "HOME": str(home)}, capture_output=True)
    assert list(home.iterdir()) == []


def test_no_generated_file_names_this_machine(tmp_path: Path) -> None:
    assert scaffold("my_op", "-o", str(tmp_path / "p")).exit_code == 0
    for path in (tmp_path / "p").rglob("*"):
        if path.is_file():
            assert str(tmp_path) not in path.read_text(encoding="utf-8")


# ---- the package's own tests, on the real torch_npu


def run_tests(project: Path) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k != "TORCH_DEVICE_BACKEND_AUTOLOAD"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
    return subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, timeout=300)


@pytest.mark.npu
@pytest.mark.parametrize(
    "words",
    [["my_op"], ["my_op", "--in-place", "--style", "custom-op"]],
    ids=["library", "custom-op in place"],
)
def test_a_fresh_package_passes_its_tests(tmp_path: Path, words: list[str]) -> None:
    assert scaffold(*words, "-o", str(tmp_path / "p")).exit_code == 0
    done = run_tests(tmp_path / "p")
    assert done.returncode == 0, done.stdout
    assert "3 passed" in done.stdout


def _break(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.mark.npu
@pytest.mark.parametrize(
    ("file", "old", "new", "fails"),
    [
        ("meta.py", "x.new_empty(x.shape)", "x.new_empty((4, 8))", ["npugraph_ex", "ge"]),
        ("converters.py", '{"x": x, "y": y}', '{"x": y, "y": x}', ["ge"]),
    ],
    ids=["Meta with a fixed size", "converter with swapped inputs"],
)
def test_a_broken_package_fails_its_tests(
    tmp_path: Path, file: str, old: str, new: str, fails: list[str]
) -> None:
    assert scaffold("my_op", "-o", str(tmp_path / "p")).exit_code == 0
    _break(tmp_path / "p" / "my_op_ops" / file, old, new)
    done = run_tests(tmp_path / "p")
    assert done.returncode == 1, done.stdout
    for mode in ("npugraph_ex", "ge"):
        assert (f"test_my_op_enters_the_graph[{mode}]" in done.stdout) == (mode in fails), done.stdout
