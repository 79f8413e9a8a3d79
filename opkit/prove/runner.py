"""Runs worker processes and puts their findings together. Imports no torch.

Each mode and style has a process of its own: torchair and npugraph_ex cannot both be used in one process in
any order, and the same operator cannot be defined twice. A worker that crashes, hangs or cannot start costs
the stage it was in; the findings it wrote before stay, and a new worker takes the operators that were left.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Any

from opkit.errors import OpkitError
from opkit.processes import end_workers, run_worker
from opkit.prove.collect import Collector, assemble
from opkit.prove.findings import explained
from opkit.prove.plan import Plan, requests
from opkit.prove.protocol import Proof, Request

# Called with (number of finished operator cases, number of all, what is running).
Progress = Callable[[int, int, str], None]


def prove(plan: Plan, progress: Progress | None = None) -> Proof:
    """Prove what the plan asks for.

    Raises InvalidDeclaration for mistakes in the YAML, and OpkitError when nothing can be judged at all, e.g.
    because torch_npu is not installed.
    """
    work = requests(plan)
    collectors = [Collector(request) for request in work]
    report = _Reporter(collectors, progress)
    with ThreadPoolExecutor(max_workers=min(len(work), _cores())) as pool:
        stop = threading.Event()
        futures = [pool.submit(_run, collector, plan.timeout, report, stop) for collector in collectors]
        try:
            for future in futures:
                future.result()
        except BaseException:
            # Ctrl-C too: the pool waits for its threads, and those wait for their workers.
            stop.set()
            # A worker may be about to start in its thread, and not be there to be ended yet.
            while wait(futures, timeout=0.1).not_done:
                end_workers()
            raise
    return explained(assemble(plan, collectors))


def _cores() -> int:
    """Count the cores this process may use, which in a container are fewer than the machine's."""
    return len(os.sched_getaffinity(0))


class _Reporter:
    """Adds up the progress of all workers; called from their threads."""

    def __init__(self, collectors: list[Collector], progress: Progress | None) -> None:
        self.collectors, self.progress, self.lock = collectors, progress, threading.Lock()
        self.total = sum(len(c.request.subjects) for c in collectors)

    def __call__(self, what: str) -> None:
        if self.progress is not None:
            with self.lock:
                self.progress(sum(len(c.finished) for c in self.collectors), self.total, what)


def _run(collector: Collector, timeout: float, report: _Reporter, stop: threading.Event) -> None:
    """Run workers until every subject of the request has a result."""
    while (remaining := collector.remaining()) and not stop.is_set():
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
    return run_worker(
        "opkit.prove.worker", request.to_json(), lambda event: _take(event, collector, report), timeout
    )


def _take(event: Mapping[str, Any], collector: Collector, report: _Reporter) -> None:
    collector.take(event)
    if event["event"] in ("begin", "finished"):
        request = collector.request
        report(f"{request.mode}/{request.style} {event.get('operator', '')}")
