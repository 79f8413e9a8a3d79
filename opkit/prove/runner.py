"""Runs worker processes and puts their findings together. Imports no torch.

Each mode and style has processes of its own: torchair and npugraph_ex cannot both be used in one process in
any order, and the same operator cannot be defined twice. A worker that crashes, hangs, eats memory or cannot
start costs the stage it was in; the findings it wrote before stay, and a new worker takes what was left.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from opkit.errors import OpkitError
from opkit.files import digest_of
from opkit.processes import cores, memory_share, run_together, run_worker
from opkit.prove.collect import Collector, assemble
from opkit.prove.described import described
from opkit.prove.findings import explained
from opkit.prove.plan import Plan, Work, work
from opkit.prove.protocol import Proof, Request, Scope
from opkit.prove.split import over_workers

# Called with (number of finished operator cases, number of all, what is running).
Progress = Callable[[int, int, str], None]


def prove(plan: Plan, progress: Progress | None = None) -> Proof:
    """Prove what the plan asks for.

    Raises InvalidDeclaration for mistakes in the YAML, and OpkitError when nothing can be judged at all, e.g.
    because torch_npu is not installed.
    """
    todo = work(plan)
    workers = plan.jobs or cores()
    collectors = [Collector(request) for request in over_workers(todo.requests, workers)]
    at_once = min(workers, len(collectors))
    memory = plan.memory or memory_share(max(1, at_once))
    report = _Reporter(collectors, progress)
    actions = [partial(_run, collector, plan.timeout, memory, report) for collector in collectors]
    run_together(actions, at_once)
    proof = replace(assemble(plan, collectors, todo.subjects), scope=_scope(plan, todo))
    return described(explained(proof), plan)


def _scope(plan: Plan, todo: Work) -> Scope:
    shard = plan.shard
    return Scope(
        directory=os.getcwd(),
        declarations={path: digest_of(path) for path in dict.fromkeys(file for file, _, _ in todo.subjects)},
        shard=None if shard is None else (shard.index, shard.count),
        subjects=todo.subjects if shard else (),
        nothing=todo.nothing,
    )


class _Reporter:
    """Adds up the progress of all workers; called from their threads."""

    def __init__(self, collectors: Sequence[Collector], progress: Progress | None) -> None:
        self.collectors, self.progress, self.lock = collectors, progress, threading.Lock()
        self.total = sum(len(c.request.subjects) for c in collectors)
        self.running: dict[Collector, str] = {}

    def __call__(self, collector: Collector, what: str) -> None:
        if self.progress is None:
            return
        with self.lock:
            self.running[collector] = what
            running = ", ".join(text for text in self.running.values() if text)
            done = sum(len(c.finished) for c in self.collectors)
            self.progress(done, self.total, running)


def _run(
    collector: Collector, timeout: float, memory: int | None, report: _Reporter, stop: threading.Event
) -> None:
    """Run workers until every subject of the request has a result."""

    def take(event: Mapping[str, Any]) -> None:
        collector.take(event)
        if event["event"] in ("begin", "finished"):
            report(collector, f"{collector.request.mode}/{collector.request.style} {event['operator']}")

    while (remaining := collector.remaining()) and not stop.is_set():
        before = len(collector.finished)
        request: Request = replace(collector.request, subjects=remaining)
        ending = run_worker("opkit.prove.worker", request.to_json(), take, timeout, memory=memory)
        collector.ended(ending)
        if collector.tool_error is not None:
            raise collector.tool_error
        if len(collector.finished) == before and collector.remaining():
            # Unreachable unless a worker ends well without judging anything; never loop on that.
            raise OpkitError("a prover process ended without judging anything", ending)
    report(collector, "")
