"""What a worker process finds around it, and what is left of one."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from opkit.processes import ENDED_FROM_OUTSIDE, OUT_OF_MEMORY, memory_share, run_together, run_worker

# Reports what it sees: a module of the user's directory, one that has the name of a real one, the warnings.
WORKER = """\
import json, os, sys
import mine, yaml
seen = {"mine": mine.__file__, "yaml": yaml.__file__, "warnings": sys.warnoptions, "argv": sys.argv[1:]}
with open(sys.argv[2], "a") as stream:
    stream.write(json.dumps(seen) + "\\n")
if "KILL" in os.environ:
    os.kill(os.getpid(), int(os.environ["KILL"]))
"""


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "workers").mkdir()
    (tmp_path / "workers" / "tiny_worker.py").write_text(WORKER)
    user = tmp_path / "user"
    user.mkdir()
    (user / "mine.py").write_text("")
    (user / "yaml.py").write_text("raise SystemExit('not the real one')")
    monkeypatch.chdir(user)
    # Relative: a worker has another directory.
    monkeypatch.setenv("PYTHONPATH", "../workers")
    monkeypatch.setenv("PYTHONWARNINGS", "error")
    return user


def run() -> tuple[str, list[Any]]:
    seen: list[Any] = []
    return run_worker("tiny_worker", {}, seen.append, timeout=30), seen


def test_the_users_directory_is_importable_and_hides_nothing(directory: Path) -> None:
    death, [seen] = run()
    assert death == ""
    assert seen["mine"] == str(directory / "mine.py")
    assert "site-packages" in seen["yaml"]
    assert seen["argv"] == ["request.json", "result.jsonl"]


def test_warnings_are_no_errors(directory: Path) -> None:
    _, [seen] = run()
    assert seen["warnings"] == []


@pytest.mark.parametrize(("signal", "outside"), [(9, True), (15, True), (11, False)])
def test_a_worker_that_somebody_ended(
    directory: Path, monkeypatch: pytest.MonkeyPatch, signal: int, outside: bool
) -> None:
    monkeypatch.setenv("KILL", str(signal))
    death, seen = run()
    assert len(seen) == 1
    assert death.startswith("the process died of signal SIG")
    assert death.startswith(ENDED_FROM_OUTSIDE) == outside


def test_old_folders_are_removed(directory: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    names = ("4194399-gone", f"{os.getpid()}-here", "olderform")
    folders = [tmp_path / f"opkit-worker-{name}" for name in names]
    recent = tmp_path / "opkit-worker-4194399-recent"
    two_days_ago = time.time() - 2 * 24 * 3600
    for folder in (*folders, recent):
        folder.mkdir()
        (folder / "output").write_text("")
        if folder is not recent:
            os.utime(folder, (two_days_ago, two_days_ago))
    run()
    left = sorted(path.name for path in tmp_path.glob("opkit-worker-*"))
    assert left == sorted([recent.name, folders[1].name])


EATER = """\
import json, sys, time
with open(sys.argv[2], "a") as stream:
    stream.write(json.dumps({"event": "started"}) + "\\n")
eaten = [b"x" * 2**20 for _ in range(400)]
time.sleep(60)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not tell")
def test_a_worker_that_eats_memory(directory: Path) -> None:
    (directory.parent / "workers" / "eating_worker.py").write_text(EATER)
    seen: list[Any] = []
    began = time.monotonic()
    death = run_worker("eating_worker", {}, seen.append, timeout=50, memory=200 * 2**20)
    assert death.startswith(f"{OUT_OF_MEMORY} 0.195 GiB of memory; its process group was killed")
    assert time.monotonic() - began < 30
    assert seen == [{"event": "started"}]
    assert run_worker("tiny_worker", {}, seen.append, timeout=30, memory=200 * 2**20) == ""


def test_a_share_of_the_memory() -> None:
    whole, half = memory_share(1), memory_share(2)
    assert whole is not None
    assert half is not None
    assert 2**28 < half < whole
    assert abs(whole - 2 * half) < 2


def test_actions_run_together_but_not_too_many() -> None:
    running, most, lock = 0, 0, threading.Lock()

    def action(stop: threading.Event) -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        stop.wait(0.05)
        with lock:
            running -= 1

    run_together([action] * 12, 3)
    assert most == 3
    run_together([], 3)


SLEEPER = """\
import json, sys, time
with open(sys.argv[2], "a") as stream:
    stream.write(json.dumps({"event": "started"}) + "\\n")
time.sleep(60)
"""


def test_the_first_error_ends_all_workers_also_those_that_are_starting(directory: Path) -> None:
    (directory.parent / "workers" / "sleeping_worker.py").write_text(SLEEPER)
    began = time.monotonic()
    ended: list[str] = []

    def sleep(stop: threading.Event) -> None:
        # Over and over, so that one is about to start whenever the error comes.
        while not stop.is_set():
            ended.append(run_worker("sleeping_worker", {}, lambda _event: None, timeout=1))

    def fail(_stop: threading.Event) -> None:
        time.sleep(0.7)
        raise ValueError("no good")

    with pytest.raises(ValueError, match="no good"):
        run_together([sleep, sleep, fail], 3)
    assert time.monotonic() - began < 20
    assert ended
