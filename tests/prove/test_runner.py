"""Workers that crash, hang or cannot start cost their own stage and nothing else."""

from __future__ import annotations

import glob
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from opkit.errors import OpkitError
from opkit.prove.plan import InvalidDeclaration, Plan, UnreadableFile, requests
from opkit.prove.protocol import ENTERS, PROVED, Proof
from opkit.prove.runner import prove as run
from opkit.testing import prove

DYING = Path(__file__).parent / "dying"


@pytest.fixture(scope="module")
def dying(proof_of: Callable[..., Proof]) -> Proof:
    options = {
        "imports": [DYING / "operators.py"],
        "modes": ["npugraph_ex"],
        "operators": ["crashes", "hangs", "survives"],
        "timeout": 15,
    }
    return proof_of(DYING / "ops.yaml", **options)


def reason(proof: Proof, name: str) -> str:
    [mode] = [m for o in proof.operators if o.name == name for m in o.modes]
    return mode.reason


@pytest.mark.npu
def test_a_crash_is_the_failure_of_its_operator(dying: Proof) -> None:
    assert reason(dying, "crashes").startswith("host: the process died of signal SIGABRT")
    assert "last words of the kernel" in reason(dying, "crashes")


@pytest.mark.npu
def test_a_hang_is_the_failure_of_its_operator(dying: Proof) -> None:
    assert reason(dying, "hangs").startswith("host: no answer within 15 s; its process group was killed")


@pytest.mark.npu
def test_eating_memory_is_the_failure_of_its_operator() -> None:
    plan = Plan(
        files=(str(DYING / "ops.yaml"),),
        operators=("eats", "survives"),
        modes=("npugraph_ex",),
        stages=("dynamo",),
        imports=(str(DYING / "operators.py"),),
        timeout=60,
        # torch and torch_npu need less than a third of that for themselves.
        memory=3 * 2**30,
    )
    proof = run(plan)
    assert reason(proof, "eats").startswith("host: it used more than 3 GiB of memory")
    [mode] = [m for o in proof.operators if o.name == "survives" for m in o.modes]
    assert mode.verdict == PROVED, mode.reason


@pytest.mark.npu
def test_the_others_are_judged(dying: Proof) -> None:
    [mode] = [m for o in dying.operators if o.name == "survives" for m in o.modes]
    assert mode.verdict == ENTERS, mode.reason
    assert dying.runtime.kind in ("stand-in", "cann")


@pytest.mark.npu
def test_no_process_is_left_over(dying: Proof) -> None:
    listed = subprocess.run(["ps", "-eo", "ppid,args"], capture_output=True, text=True).stdout
    mine = [line for line in listed.splitlines() if line.split()[0] == str(os.getpid())]
    assert not [line for line in mine if "opkit.prove.worker" in line]


@pytest.mark.npu
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL])
def test_workers_end_with_the_command(ending: signal.Signals) -> None:
    arguments = ["prove", str(DYING / "ops.yaml"), "--import", str(DYING / "operators.py")]
    command = subprocess.Popen(
        [sys.executable, "-m", "opkit", *arguments, "--op", "hangs", "--mode", "npugraph_ex"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        worker = wait_for(lambda: children(command.pid))[0]
        # Killed before it could ask the kernel to be ended with its parent, it would live on.
        wait_for(lambda: "libtorch" in Path(f"/proc/{worker}/maps").read_text())
    finally:
        command.send_signal(ending)
        command.wait(timeout=20)
    wait_for(lambda: not Path(f"/proc/{worker}").exists())


def children(pid: int) -> list[int]:
    found = [Path(path).read_text().split() for path in glob.glob(f"/proc/{pid}/task/*/children")]
    return [int(child) for group in found for child in group]


def wait_for(condition: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + 30
    while not (found := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found


@pytest.mark.npu
def test_a_module_that_cannot_be_imported_is_one_error(tmp_path: Path) -> None:
    module = tmp_path / "unimportable.py"
    module.write_text("import sys\nsys.exit(3)")
    with pytest.raises(OpkitError) as caught:
        prove(DYING / "ops.yaml", operators=["survives"], imports=[module], modes=["npugraph_ex"])
    assert caught.value.message == f"importing unimportable.py failed: SystemExit: 3 ({module}:2)"


def test_a_plan_is_one_request_per_mode_and_style() -> None:
    made = requests(Plan(files=(str(DYING / "ops.yaml"),)))
    assert [(r.mode, r.style) for r in made] == [
        ("npugraph_ex", "library"),
        ("npugraph_ex", "custom-op"),
        ("ge", "library"),
        ("ge", "custom-op"),
    ]
    assert [name for _, name, _ in made[0].subjects] == ["crashes", "hangs", "eats", "survives"]


def test_only_what_was_asked_for() -> None:
    plan = Plan(
        files=(str(DYING / "ops.yaml"),), operators=("dying::hangs",), modes=("ge",), styles=("library",)
    )
    [request] = requests(plan)
    assert [name for _, name, _ in request.subjects] == ["hangs"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"operators": ("no_such",)}, "no operator named no_such"),
        ({"modes": ("eager",)}, "unknown mode 'eager'"),
        ({"styles": ("c++",)}, "unknown style 'c++'"),
        ({"package": "no_such_directory"}, "is not a Python package"),
        ({"imports": ("nowhere/mine.py",)}, "--import nowhere/mine.py: there is no such file"),
        ({"package": "p", "styles": ("library",)}, "exclude each other"),
    ],
)
def test_impossible_plans(options: dict, message: str) -> None:
    with pytest.raises(OpkitError, match=re.escape(message)):
        requests(Plan(files=(str(DYING / "ops.yaml"),), **options))


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile):
        requests(Plan(files=(str(tmp_path / "no.yaml"),)))


def test_mistakes_in_the_yaml(tmp_path: Path) -> None:
    path = tmp_path / "ops.yaml"
    path.write_text("custom:\n  - func: f(Tenser x) -> Tensor\n  - func: g(Tensor x) -> Tensr\n")
    with pytest.raises(InvalidDeclaration) as caught:
        requests(Plan(files=(str(path),)))
    assert len(caught.value.diagnostics) >= 2


def test_a_file_without_operators(tmp_path: Path) -> None:
    path = tmp_path / "ops.yaml"
    for text in ("custom: []\n", "", "- 1\n"):
        path.write_text(text)
        with pytest.raises(InvalidDeclaration) as caught:
            requests(Plan(files=(str(path),)))
        assert [found.code for found in caught.value.diagnostics] == ["OPK004"]
