"""Run test code in a fresh process: the libraries are loaded once in a process, and before torch."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Mapping


def environment(changes: Mapping[str, str] | None = None) -> dict[str, str]:
    """Give this process's environment without what a test or shell may have set for the stand-in."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name
        not in ("TORCH_DEVICE_BACKEND_AUTOLOAD", "TASK_QUEUE_ENABLE", "LD_LIBRARY_PATH", "OPKIT_STAND_IN")
    }
    return {**kept, **(changes or {})}


def run_python(code: str, changes: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run Python code in a fresh process."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env=environment(changes), capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


def check_python(code: str, changes: Mapping[str, str] | None = None) -> str:
    """Run Python code whose own assertions are the test, and give what it printed."""
    done = run_python(code, changes)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def run_opkit(*words: str, changes: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run an opkit command."""
    return subprocess.run(
        [sys.executable, "-m", "opkit", *words],
        env=environment(changes), capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
