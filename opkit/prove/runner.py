"""Runs worker processes and puts their findings together. Imports no torch.

Each mode and style has a process of its own: torchair and npugraph_ex cannot both be used in one process in
any order, and the same operator cannot be defined twice. A worker that crashes, hangs or cannot start costs
the stage it was in; the findings it wrote before stay, and a new worker takes the operators that were left.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from opkit.errors import OpkitError
from opkit.prove.collect import Collector, assemble
from opkit.prove.plan import Plan, requests
from opkit.prove.protocol import Proof, Request

# Called with (number of finished operator cases, number of all, what is running).
Progress = Callable[[int, int, str], None]

_POLL_SECONDS = 0.05
_STDERR_LINES = 12


def prove(plan: Plan, progress: Progress | None = None) -> Proof:
    """Prove what the plan asks for.

    Raises InvalidDeclaration for mistakes in the YAML, and OpkitError when nothing can be judged at all, e.g.
    because torch_npu is not installed.
    """
    work = requests(plan)
    collectors = [Collector(request) for request in work]
    report = _Reporter(collectors, progress)
    with ThreadPoolExecutor(max_workers=min(len(work), os.cpu_count() or 1)) as pool:
        futures = [pool.submit(_run, collector, plan.timeout, report) for collector in collectors]
        for future in futures:
            future.result()
    return assemble(plan, collectors)


class _Reporter:
    """Adds up the progress of all workers; called from their threads."""

    def __init__(self, collectors: list[Collector], progress: Progress | None) -> None:
        self.collectors, self.progress, self.lock = collectors, progress, threading.Lock()
        self.total = sum(len(c.request.subjects) for c in collectors)

    def __call__(self, what: str) -> None:
        if self.progress is not None:
            with self.lock:
                self.progress(sum(len(c.finished) for c in self.collectors), self.total, what)


def _run(collector: Collector, timeout: float, report: _Reporter) -> None:
    """Run workers until every subject of the request has a result."""
    while remaining := collector.remaining():
        before = len(collector.finished)
        ending = _run_worker(replace(collector.request, subjects=remaining), collector, timeout, report)
        collector.ended(ending)
        if collector.tool_error is not None:
            raise collector.tool_error
        if len(collector.finished) == before and collector.remaining():
            # Unreachable unless a worker ends well without judging anything; never loop on that.
            raise OpkitError("a prover process ended without judging anything", ending)


def _run_worker(request: Request, collector: Collector, timeout: float, report: _Reporter) -> str:
    """Run one worker to its end; return "" or how it died."""
    with tempfile.TemporaryDirectory(prefix="opkit-prove-") as directory:
        folder = Path(directory)
        (folder / "request.json").write_text(json.dumps(request.to_json()), encoding="utf-8")
        (folder / "result.jsonl").touch()
        with (folder / "stderr").open("wb") as errors:
            process = subprocess.Popen(
                [sys.executable, "-m", "opkit.prove.worker", "request.json", "result.jsonl"],
                cwd=folder,
                env=_environment(),
                stdin=subprocess.DEVNULL,
                stdout=errors,
                stderr=errors,
                start_new_session=True,
            )
            try:
                hung = _follow(process, folder / "result.jsonl", collector, timeout, report)
            finally:
                _kill_group(process)
        tail = (folder / "stderr").read_text(encoding="utf-8", errors="replace")
    if hung:
        return f"no answer within {timeout:g} s; its process group was killed{_last_lines(tail)}"
    if process.returncode:
        return f"the process died of {_death(process.returncode)}{_last_lines(tail)}"
    return ""


def _environment() -> dict[str, str]:
    """Give the worker this environment, with the user's directory and opkit importable from its own cwd."""
    environment = dict(os.environ)
    package_root = str(Path(__file__).resolve().parents[2])
    paths = [os.getcwd(), package_root, *environment.get("PYTHONPATH", "").split(os.pathsep)]
    environment["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(path for path in paths if path))
    # The worker loads the runtime libraries itself before torch looks for its backends.
    environment.pop("TORCH_DEVICE_BACKEND_AUTOLOAD", None)
    return environment


def _follow(
    process: subprocess.Popen[bytes], path: Path, collector: Collector, timeout: float, report: _Reporter
) -> bool:
    """Hand over each line as it comes; return True when there was none for too long."""
    last_news = time.monotonic()
    rest = b""
    with path.open("rb") as stream:
        while True:
            running = process.poll() is None
            data = stream.read()
            if data:
                last_news = time.monotonic()
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    _take(json.loads(line), collector, report)
            elif not running:
                return False
            elif time.monotonic() - last_news > timeout:
                return True
            else:
                time.sleep(_POLL_SECONDS)


def _take(event: Mapping[str, Any], collector: Collector, report: _Reporter) -> None:
    collector.take(event)
    if event["event"] in ("begin", "finished"):
        request = collector.request
        report(f"{request.mode}/{request.style} {event.get('operator', '')}")


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """End what is left of the worker's own process group, compilers it started included."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def _death(code: int) -> str:
    if code < 0:
        try:
            return f"signal {signal.Signals(-code).name}"
        except ValueError:
            return f"signal {-code}"
    return f"exit status {code}"


def _last_lines(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()][-_STDERR_LINES:]
    return "; its last output:\n" + "\n".join(f"  {line}" for line in lines) if lines else ""
