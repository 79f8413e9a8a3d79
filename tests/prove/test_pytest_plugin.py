"""The pytest plugin: `--opkit`, the marker, the fixtures; suites which use none of it stay as they are."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from opkit.errors import OpkitError
from opkit.prove.plan import InvalidDeclaration
from opkit.pytest_items import Proofs

ROOT = Path(__file__).parents[2]
OPS = """\
custom:
  - func: good(Tensor x) -> Tensor
    meta: {out: {size: x, dtype: x}}
    reference: reference.py:same
    cases: [{x: "f16[B, 8]", B: [3, 5]}]
  - func: bad(Tensor x) -> Tensor
    meta: {out: {size: x, dtype: x}}
    cases: [{x: "f16[B, 8]", B: [3, 5]}]
"""
# In place of real proofs: `bad` breaks in ge, `good` is not expressible with custom_op. Each is counted.
FAKE = """\
import time
from opkit import pytest_items
from opkit.prove.protocol import ModeResult, OperatorResult, Proof, Runtime, failed, proved

def prove(path, operators=(), modes=("npugraph_ex", "ge"), styles=None, **options):
    with open({log!r}, "a") as stream:
        print(str(path), operators, modes, styles, sorted(options), file=stream)
    time.sleep(0.3)
    results = []
    for name in operators or ("good", "bad"):
        for style in styles or ("library", "custom-op"):
            if (name, style) == ("good", "custom-op"):
                continue
            results.append(OperatorResult(name, style, "case1", tuple(
                ModeResult(
                    mode,
                    (failed("ge", "no node\\nat all") if (name, mode) == ("bad", "ge") else proved(mode),),
                    ("not proved in custom-op style: why",) if name == "good" else (),
                )
                for mode in modes
            ), str(path), {{}}, 6, "", f"opkit prove ops.yaml --op {{name}} --style {{style}}"))
    return Proof(Runtime("stand-in", "", "", ""), tuple(results))

pytest_items.prove = prove
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """Make a suite whose proofs are counted and take no time."""
    (tmp_path / "ops.yaml").write_text(OPS)
    (tmp_path / "reference.py").write_text("def same(x):\n    return x.clone()\n")
    (tmp_path / "conftest.py").write_text(FAKE.format(log=str(tmp_path / "proofs.log")))
    return tmp_path


def run(suite: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "TORCH_DEVICE", "OPKIT_"))}
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    # As if by entry point, whether or not this checkout is the one that is installed.
    plugin = ("-p", "opkit.pytest_plugin")
    return subprocess.run(
        [sys.executable, "-m", "pytest", *plugin, "-p", "no:cacheprovider", "-rA", *arguments],
        cwd=suite,
        env={**kept, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
    )


def outcomes(done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    """Read the short summary: test -> outcome."""
    lines = (line.split(" ", 1) for line in done.stdout.splitlines())
    found = {"PASSED", "FAILED", "ERROR"}
    return {words[1].partition(" - ")[0]: words[0] for words in lines if words[0] in found}


def proofs_made(suite: Path) -> list[str]:
    log = suite / "proofs.log"
    return log.read_text().splitlines() if log.exists() else []


NAMES = [
    f"ops.yaml::{name}[{mode}-{style}-case1]"
    for name in ("good", "bad")
    for mode in ("npugraph_ex", "ge")
    for style in ("library", "custom-op")
]


def test_a_test_for_each_operator_mode_style_and_case(suite: Path) -> None:
    done = run(suite, "--opkit", "ops.yaml")
    assert done.returncode == 1
    wanted = {name: "FAILED" if "bad[ge" in name else "PASSED" for name in NAMES if "good" not in name}
    wanted |= {name: "PASSED" for name in NAMES if "good" in name and "library" in name}
    assert outcomes(done) == wanted
    assert done.stdout.count(": not proved in custom-op style: why") == 1
    assert "2 failed, 4 passed, 2 skipped" in done.stdout
    assert len(proofs_made(suite)) == 1


def test_a_failure_says_why_where_and_how_to_see_it_again(suite: Path) -> None:
    done = run(suite, "--opkit", "ops.yaml", "-k", "bad and library and ge")
    for line in (
        "bad [library, case case1] ge: breaks",
        "  ge: no node",
        "  at all",
        "declared at ops.yaml:6",
        "reproduce:  opkit prove ops.yaml --op bad --style library --mode ge",
    ):
        assert line in done.stdout.splitlines()
    assert "Traceback" not in done.stdout
    # Only what was selected is proved.
    assert [line.split(" ", 1)[1] for line in proofs_made(suite)] == [
        "('bad',) ('ge',) None ['imports', 'namespace', 'package', 'timeout']"
    ]


def test_one_test_can_be_named(suite: Path) -> None:
    done = run(suite, "--opkit", "ops.yaml", NAMES[0])
    assert outcomes(done) == {NAMES[0]: "PASSED"}


def test_options_choose_modes_and_styles(suite: Path) -> None:
    done = run(suite, "--opkit", "ops.yaml", "--opkit-mode", "ge", "--opkit-style", "library", "--co", "-q")
    assert [line for line in done.stdout.splitlines() if "::" in line] == [NAMES[2], NAMES[6]]


def test_xdist_workers_share_one_proof(suite: Path) -> None:
    done = run(suite, "--opkit", "ops.yaml", "-n", "3")
    assert done.stdout.count("PASSED ops.yaml") == 4
    assert done.stdout.count("FAILED ops.yaml") == 2
    assert len(proofs_made(suite)) == 1


def test_the_marker_and_its_proof(suite: Path) -> None:
    (suite / "sub").mkdir()
    (suite / "sub" / "test_it.py").write_text(
        "import pytest\n"
        "@pytest.mark.opkit('../ops.yaml', op='good')\n"
        "def test_enters(opkit_proof):\n    assert [o.name for o in opkit_proof.operators] == ['good']\n"
        "@pytest.mark.opkit('../ops.yaml', op=['good', 'bad'], mode='ge')\n"
        "def test_breaks():\n    raise AssertionError('the body ran')\n"
        "@pytest.mark.opkit('../ops.yaml', ops='good')\n"
        "def test_misspelt():\n    pass\n"
        "def test_bare(opkit_proof):\n    pass\n"
    )
    done = run(suite)
    found = {name.split("::")[1]: outcome for name, outcome in outcomes(done).items()}
    assert found == {
        "test_enters": "PASSED", "test_breaks": "FAILED", "test_misspelt": "FAILED", "test_bare": "ERROR"
    }  # fmt: skip
    assert "bad [library, case case1] ge: breaks" in done.stdout
    assert "the body ran" not in done.stdout
    assert "found unknown ops" in done.stdout
    assert "uses opkit_proof without @pytest.mark.opkit(FILE)" in done.stdout


def test_the_fixture(suite: Path) -> None:
    (suite / "test_it.py").write_text(
        "def test_good(opkit_prove):\n"
        "    assert opkit_prove('ops.yaml', operators=['good']).enters\n"
        "    opkit_prove('ops.yaml', operators=['good'])\n"
        "def test_bad(opkit_prove):\n    opkit_prove('ops.yaml', operators=['bad'])\n"
    )
    done = run(suite)
    assert outcomes(done) == {"test_it.py::test_good": "PASSED", "test_it.py::test_bad": "FAILED"}
    assert "reproduce:  opkit prove ops.yaml --op bad --style custom-op --mode ge" in done.stdout
    assert len(proofs_made(suite)) == 2


def test_a_conftest_that_names_the_plugin_loads_it_once(suite: Path) -> None:
    with (suite / "conftest.py").open("a") as stream:
        stream.write("pytest_plugins = ['opkit.pytest_plugin']\n")
    done = run(suite, "--opkit", "ops.yaml", "-k", "good and library")
    assert list(outcomes(done).values()) == ["PASSED", "PASSED"], done.stderr


def test_mistakes_in_the_yaml_are_told_at_collection(suite: Path) -> None:
    (suite / "ops.yaml").write_text("custom:\n  - func: f(Tenser x) -> Tensor\n")
    done = run(suite, "--opkit", "ops.yaml")
    assert done.returncode == 2
    assert "ops.yaml:2:" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_a_file_that_is_not_there(suite: Path) -> None:
    done = run(suite, "--opkit", "no.yaml")
    assert done.returncode == 4
    assert "--opkit no.yaml: there is no such file" in done.stderr


AUTOLOAD = """\
import os, sys
def test_it({arguments}):
    print("AUTOLOAD", os.environ.get("TORCH_DEVICE_BACKEND_AUTOLOAD"))
    print("TORCH", "torch" in sys.modules)
    print("OURS", sorted(m for m in sys.modules if m.startswith("opkit.")))
"""


def said(done: subprocess.CompletedProcess[str], word: str) -> str:
    return next(line.split(" ", 1)[1] for line in done.stdout.splitlines() if line.startswith(word))


def test_a_suite_that_uses_nothing_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(AUTOLOAD.format(arguments=""))
    (tmp_path / "ops.yaml").write_text("custom: [this is no declaration\n")
    done = run(tmp_path, "test_it.py")
    assert (done.returncode, said(done, "AUTOLOAD"), said(done, "TORCH")) == (0, "None", "False")
    assert said(done, "OURS") == "['opkit.pytest_plugin']"
    assert "1 passed" in run(tmp_path).stdout


def test_torch_can_be_imported_where_the_plugin_is_used_and_there_is_no_cann(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(AUTOLOAD.format(arguments="opkit_prove"))
    none = {"LD_LIBRARY_PATH": "", "ASCEND_HOME_PATH": "", "ASCEND_TOOLKIT_HOME": ""}
    done = run(tmp_path, **none)
    assert (said(done, "AUTOLOAD"), said(done, "TORCH")) == ("0", "False")
    # The user's word counts, and a real CANN needs no help.
    assert said(run(tmp_path, **none, TORCH_DEVICE_BACKEND_AUTOLOAD="1"), "AUTOLOAD") == "1"
    (tmp_path / "cann").mkdir()
    (tmp_path / "cann" / "libascendcl.so").touch()
    assert said(run(tmp_path, **{**none, "LD_LIBRARY_PATH": str(tmp_path / "cann")}), "AUTOLOAD") == "None"


def test_a_proof_that_failed_to_start_is_not_tried_again(tmp_path: Path) -> None:
    (tmp_path / "ops.yaml").write_text("custom:\n  - func: f(Tenser x) -> Tensor\n")
    (tmp_path / "shared").mkdir()
    first, second = (Proofs(str(tmp_path / "shared")) for _ in range(2))
    with pytest.raises(InvalidDeclaration):
        first.prove(str(tmp_path / "ops.yaml"))
    (tmp_path / "ops.yaml").unlink()
    with pytest.raises(OpkitError, match=r"the operator YAML has mistakes[\s\S]*ops.yaml:2:"):
        second.prove(str(tmp_path / "ops.yaml"))
    (text,) = [path.read_text() for path in (tmp_path / "shared").iterdir()]
    assert "error" in json.loads(text)


@pytest.mark.npu
def test_real_proofs(tmp_path: Path) -> None:
    (tmp_path / "ops.yaml").write_text(OPS + "    reference: reference.py:other\n")
    functions = "def same(x):\n    return x.clone()\n\ndef other(x):\n    return x.float()\n"
    (tmp_path / "reference.py").write_text(functions)
    (tmp_path / "test_it.py").write_text(
        "import torch\n\ndef test_torch():\n    assert torch.ones(2).sum() == 2\n"
    )
    choice = ("--opkit-mode", "npugraph_ex", "--opkit-style", "library")
    done = run(tmp_path, "--opkit", "ops.yaml", *choice, "-n", "2")
    assert outcomes(done) == {
        "ops.yaml::good[npugraph_ex-library-case1]": "PASSED",
        "ops.yaml::bad[npugraph_ex-library-case1]": "FAILED",
        "test_it.py::test_torch": "PASSED",
    }
    assert "float32[3, 8]" in done.stdout
