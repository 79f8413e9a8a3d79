"""`opkit prove` as a command: exit codes, streams, formats."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

OPS = """\
custom:
  - func: my_op(Tensor x, Tensor? y, Tensor[] z, float attr1, int attr2) -> Tensor
    op_api: all_version
    gen_opapi:
      out: {size: x, dtype: x}
      exec: aclnnMyOp
    reference: reference.py:my_op
  - func: my_inplace(Tensor(a!) x, Tensor y) -> Tensor
    op_api: all_version
    gen_opapi:
      out: {size: y, dtype: y}
      exec: aclnnMyInplace
"""
REFERENCE = """\
def my_op(x, y, z, attr1, attr2):
    return x * attr1 + attr2 + sum(z) + (0 if y is None else y)
"""


@pytest.fixture
def ops(tmp_path: Path) -> Path:
    (tmp_path / "ops.yaml").write_text(OPS)
    (tmp_path / "reference.py").write_text(REFERENCE)
    return tmp_path


def opkit(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    root = str(Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])}
    return subprocess.run(
        [sys.executable, "-m", "opkit", *arguments], cwd=cwd, env=environment, capture_output=True, text=True
    )


@pytest.mark.npu
def test_everything_enters_in_both_modes_and_styles(ops: Path) -> None:
    done = opkit("prove", "ops.yaml", "--format", "json", cwd=ops)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    found = {(op["name"], op["style"], op["case"]): op["modes"] for op in report["operators"]}
    cases = [("my_op", "optionals given"), ("my_op", "optionals None"), ("my_inplace", "default")]
    assert list(found) == [(n, s, c) for n, c in cases for s in ("library", "custom-op")]
    for (name, _, case), modes in found.items():
        assert list(modes) == ["npugraph_ex", "ge"]
        for mode, value in modes.items():
            assert value["verdict"] == "enters", value["reason"]
            stages = ["schema", "meta", "host", "variations", "dynamo", mode]
            stages += ["values"] * (name == "my_op") + ["composition"] * (case != "optionals None")
            assert [stage["name"] for stage in value["stages"]] == stages


@pytest.mark.npu
def test_an_edited_package_is_judged_as_it_is(ops: Path) -> None:
    assert opkit("gen", "ops.yaml", "-o", "package", cwd=ops).returncode == 0
    arguments = ("prove", "ops.yaml", "--package", "package", "--op", "my_op", "--mode", "npugraph_ex")
    done = opkit(*arguments, cwd=ops)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 of 2 enter" in done.stdout
    meta = ops / "package" / "meta.py"
    text = meta.read_text()
    assert "x.new_empty(x.shape)" in text
    meta.write_text(text.replace("x.new_empty(x.shape)", "x.new_empty(x.shape, dtype=torch.float32)"))
    (ops / "out").mkdir()
    done = opkit(*arguments, "--format", "json", "--output-file", "out/report.json", cwd=ops)
    assert done.returncode == 1
    reason = "result 0 is float32[5, 7], the declared rule says float16[5, 7]"
    assert f"meta: {reason}" in done.stdout
    assert "0 of 2 enter" in done.stdout
    report = json.loads((ops / "out" / "report.json").read_text())
    assert {op["modes"]["npugraph_ex"]["reason"] for op in report["operators"]} == {f"meta: {reason}"}


@pytest.mark.npu
def test_kernels_written_into_a_package_are_run(ops: Path) -> None:
    generate = ("gen", "ops.yaml", "-o", "package", "--style", "custom-op")
    assert opkit(*generate, cwd=ops).returncode == 0
    meta, kernels = ops / "package" / "meta.py", ops / "package" / "kernels.py"
    arguments = ("prove", "ops.yaml", "--package", "package", "--mode", "npugraph_ex", "--format", "json")

    def hosts() -> dict[str, str]:
        done = opkit(*arguments, cwd=ops)
        assert done.returncode == 0, done.stdout + done.stderr
        report = json.loads(done.stdout)["operators"]
        found = {op["name"]: op["modes"]["npugraph_ex"]["stages"] for op in report}
        return {name: stages[2]["evidence"]["kernel"] for name, stages in found.items()}

    assert hosts() == {"my_op": "reference function", "my_inplace": "launch only, no reference"}
    body = 'return kernel("my_op")(x, y, z, attr1, attr2)'
    assert body in meta.read_text()
    total = "x * attr1 + attr2 + sum(z) + (0 if y is None else y)"
    meta.write_text(meta.read_text().replace(body, f"return {total}"))
    inplace = "import torch\n\ndef my_inplace(x, y):\n    x.add_(1)\n    return torch.neg(y)\n"
    kernels.write_text(inplace)
    own = "the operator's own Python kernel"
    assert hosts() == {"my_op": own, "my_inplace": own}
    # A function named like the reference is a kernel all the same; one that is missing is to be written.
    meta.write_text(meta.read_text().replace(f"return {total}", body))
    assert hosts() == {"my_op": "reference function", "my_inplace": own}
    kernels.write_text(f"{inplace}\ndef my_op(x, y, z, attr1, attr2):\n    return {total}\n")
    assert hosts() == {"my_op": own, "my_inplace": own}


@pytest.mark.npu
def test_a_relative_import_is_meant_from_where_the_command_runs(ops: Path) -> None:
    (ops / "mine").mkdir()
    (ops / "mine" / "registered.py").write_text(
        "import torch\n"
        "LIBRARY = torch.library.Library('npu', 'FRAGMENT')\n"
        "LIBRARY.define('my_inplace(Tensor(a!) x, Tensor y) -> Tensor')\n"
        "LIBRARY.impl('my_inplace', lambda x, y: torch.empty_like(y), 'Meta')\n"
    )
    arguments = ("--import", "registered.py", "--op", "my_inplace", "--mode", "npugraph_ex")
    done = opkit("prove", "../ops.yaml", *arguments, "--format", "json", cwd=ops / "mine")
    assert done.returncode == 0, done.stdout + done.stderr
    [operator] = json.loads(done.stdout)["operators"]
    assert (operator["style"], operator["file"]) == ("import", str(ops / "ops.yaml"))
    assert operator["inputs"] == {
        "x": "float16[B0, 7]",
        "y": "float16[B1, 21]",
        "B0": [5, 9, 13],
        "B1": [19, 23, 27],
    }


@pytest.mark.npu
@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--import", "nosuch"), "No module named 'nosuch'\n  help: give a .py file"),
        (("--import", "raising.py"), "importing raising.py failed: ValueError: not today ({}/raising.py:2)"),
        (("--op", "called"), "the case's `call:`: functions.py has no function nothere"),
    ],
)
def test_what_cannot_be_loaded_is_one_message(ops: Path, arguments: tuple[str, ...], text: str) -> None:
    (ops / "raising.py").write_text("import torch\nraise ValueError('not today')\n")
    (ops / "functions.py").write_text("")
    with (ops / "ops.yaml").open("a") as stream:
        stream.write(
            "  - func: called(Tensor x) -> Tensor\n    meta: {out: {size: x, dtype: x}}\n"
            "    cases: [{x: 'f16[B, 8]', B: [3, 5], call: 'functions.py:nothere'}]\n"
        )
    done = opkit("prove", "ops.yaml", *arguments, cwd=ops)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("error:") == 1
    assert text.format(ops) in done.stderr
    assert "Traceback" not in done.stderr


def test_mistakes_in_the_yaml_exit_with_1(tmp_path: Path) -> None:
    text = "custom:\n  - func: f(Tenser x) -> Tensor\n    meta: {out: {size: y, dtype: x}}\n"
    (tmp_path / "ops.yaml").write_text(text + "    enters: [gee]\n  - func: g(Tensor x) -> Tensr\n")
    done = opkit("prove", "ops.yaml", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    lines = [int(line) for line in re.findall(r"ops.yaml:(\d+):", done.stderr)]
    assert lines[0] == 2
    assert lines == sorted(lines)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("no.yaml",), "no.yaml"),
        (("ops.yaml", "--op", "nothing"), "no operator named nothing"),
        (("ops.yaml", "--mode", "eager"), "the modes are npugraph_ex, ge"),
        (("ops.yaml", "--package", "nowhere"), "is not a Python package"),
        ((), "Missing argument"),
    ],
)
def test_what_cannot_be_judged_exits_with_2(ops: Path, arguments: tuple[str, ...], text: str) -> None:
    done = opkit("prove", *arguments, cwd=ops)
    assert (done.returncode, done.stdout) == (2, "")
    assert text in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("no.yaml",), 2, "the operator YAML has mistakes"),
        (("bad.yaml",), 1, "the operator YAML has mistakes"),
        (("ops.yaml", "--op", "nothing"), 2, "no operator named nothing in ops.yaml"),
    ],
)
def test_machines_get_json_in_any_case(
    ops: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    (ops / "bad.yaml").write_text("custom:\n  - func: f(Tenser x) -> Tensor\n")
    done = opkit("prove", *arguments, "--format", "json", cwd=ops)
    assert done.returncode == code
    report = json.loads(done.stdout)
    assert report["schema_version"] == 1
    assert report["error"]["message"] == message
    assert report["error"]["help"]
    assert bool(report["error"]["findings"]) == (message == "the operator YAML has mistakes")
    again = opkit("prove", *arguments, "--format", "json", "--output-file", "report.json", cwd=ops)
    assert (again.returncode, again.stdout) == (code, "")
    assert json.loads((ops / "report.json").read_text()) == report


def test_one_operator_in_two_files_is_refused(ops: Path) -> None:
    (ops / "more.yaml").write_text(OPS)
    done = opkit("prove", "ops.yaml", "more.yaml", cwd=ops)
    assert (done.returncode, done.stdout) == (2, "")
    assert "npu::my_op is declared in ops.yaml and in more.yaml" in done.stderr


def test_a_file_given_twice_is_one(ops: Path) -> None:
    from opkit.prove.plan import Plan, requests

    twice = requests(Plan(files=(str(ops / "ops.yaml"), str(ops / "." / "ops.yaml"))))
    assert [r.subjects for r in twice] == [r.subjects for r in requests(Plan(files=(str(ops / "ops.yaml"),)))]


@pytest.mark.parametrize(("ending", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_what_a_signal_ends_cleans_up(ops: Path, ending: signal.Signals, status: int) -> None:
    (ops / "tmp").mkdir()
    environment = {**os.environ, "TMPDIR": str(ops / "tmp"), "PYTHONPATH": str(Path(__file__).parents[2])}
    (ops / "slow.py").write_text("import time\ntime.sleep(60)\n")
    arguments = ("prove", "ops.yaml", "--import", "slow.py", "--mode", "npugraph_ex", "--style", "library")
    command = subprocess.Popen(
        [sys.executable, "-m", "opkit", *arguments],
        cwd=ops,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 30
    while not list((ops / "tmp").glob("opkit-worker-*/result.jsonl")) and time.monotonic() < deadline:
        time.sleep(0.05)
    command.send_signal(ending)
    _, errors = command.communicate(timeout=30)
    assert command.returncode == status
    assert "Traceback" not in errors
    assert "Aborted" not in errors
    assert list((ops / "tmp").glob("opkit-worker-*")) == []


@pytest.mark.parametrize("command", [("check", "ok.yaml"), ("prove", "ok.yaml"), ("doctor",)])
def test_a_deleted_directory(tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "gone").mkdir()
    run = f"from opkit.cli.main import main; main({list(command)!r})"
    done = subprocess.run(
        [sys.executable, "-c", f"import os; os.rmdir(os.getcwd()); {run}"],
        cwd=tmp_path / "gone",
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "the current directory has been deleted" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_parent_imports_no_torch() -> None:
    modules = "opkit.testing, opkit.prove.runner, opkit.cli.prove, opkit.report.proof"
    code = f"import {modules}, sys; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
