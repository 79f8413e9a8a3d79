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
from tempfile import TemporaryDirectory
from typing import Any

from opkit.errors import OpkitError
from opkit.files import digest_of
from opkit.processes import cores, memory_share, run_together, run_worker
from opkit.prove.collect import Collector, assemble
from opkit.prove.described import described
from opkit.prove.findings import explained
from opkit.prove.plan import Plan, Work, installed, left_out, work
from opkit.prove.protocol import Proof, Request, Scope
from opkit.prove.result_cache import open_cache
from opkit.prove.split import over_workers
from opkit.shipped import not_proved

# Called with (number of finished operator cases, number of all, what is running).
Progress = Callable[[int, int, str], None]


def prove(plan: Plan, progress: Progress | None = None) -> Proof:
    """Prove what the plan asks for.

    Raises InvalidDeclaration for mistakes in the YAML, and OpkitError when nothing can be judged at all, e.g.
    because torch_npu is not installed.
    """
    todo = work(plan)
    cache = open_cache(todo.files, plan.stand_in) if plan.result_cache and todo.requests else None
    taken, left = cache.split(todo.requests) if cache else ([], todo.requests)
    workers = plan.jobs or cores()
    collectors = [Collector(request) for request in over_workers(left, workers)]
    at_once = min(workers, len(collectors))
    memory = plan.memory or memory_share(max(1, at_once))
    report = _Reporter(collectors, progress)
    actions = [partial(_run, collector, plan.timeout, memory, report) for collector in collectors]
    try:
        run_together(actions, at_once)
    finally:
        # Also what was judged before Ctrl-C.
        if cache:
            cache.keep(collectors)
    proof = replace(assemble(plan, [*taken, *collectors], todo.subjects), scope=_scope(plan, todo))
    return described(explained(proof), plan)


def _scope(plan: Plan, todo: Work) -> Scope:
    shard = plan.shard
    return Scope(
        directory=os.getcwd(),
        declarations={path: digest_of(path) for path in dict.fromkeys(file for file, _, _ in todo.subjects)},
        shard=None if shard is None else (shard.index, shard.count),
        subjects=todo.subjects if shard else (),
        changed_since=plan.changed_since,
        nothing=todo.nothing,
        installed=installed(plan),
        without=() if plan.stages else left_out(plan),
        not_proved=_not_proved(plan, todo),
    )


def _not_proved(plan: Plan, todo: Work) -> Mapping[str, str]:
    """Say why operators of an installed package are missing; nothing where somebody chose some of them."""
    package = installed(plan)
    if not package or plan.operators or plan.changed_since:
        return {}
    tried = {name for _, name, _ in todo.subjects}
    return {name: why for name, why in not_proved(package).items() if name not in tried}


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

    # Named like the folders of workers, so that the next command removes what a killed one left.
    with TemporaryDirectory(prefix=f"opkit-worker-{os.getpid()}-") as folder:
        run = partial(run_worker, take=take, timeout=timeout, memory=memory)
        while (remaining := collector.remaining()) and not stop.is_set():
            alone = tuple(collector.alone)
            request = replace(collector.request, subjects=remaining, artifacts=folder, alone=alone)
            _ended(collector, run("opkit.prove.worker", request.to_json()))
            if collector.remaining() == remaining and tuple(collector.alone) == alone:
                # Unreachable unless a worker ends well without judging anything; never loop on that.
                raise OpkitError("a prover process ended without judging anything")
            _second(collector, request, run, stop)
    report(collector, "")


def _second(collector: Collector, request: Request, run: Callable[..., str], stop: threading.Event) -> None:
    """Have second processes take what the first one left, all of it at once unless one dies."""
    company = dict.fromkeys((*request.company, *(subject[:2] for subject in request.subjects)))
    while collector.pending and not stop.is_set():
        left = tuple(collector.pending)
        second = replace(request, subjects=left, company=tuple(company))
        _ended(collector, run("opkit.prove.second_worker", second.to_json()))
        if tuple(collector.pending) == left:
            raise OpkitError("a second prover process ended without judging anything")


def _ended(collector: Collector, death: str) -> None:
    collector.ended(death)
    if collector.tool_error is not None:
        raise collector.tool_error
