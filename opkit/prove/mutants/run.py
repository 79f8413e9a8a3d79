"""Runs the self-test: one warm worker per mode and style, and a new one where a mutant takes it down."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from opkit.errors import OpkitError
from opkit.processes import ENDED_FROM_OUTSIDE, cores, memory_share, run_together, run_worker
from opkit.prove.mutants.matrix import KILLED, Baseline, Matrix, Verdict
from opkit.prove.mutants.sample import Sample
from opkit.prove.plan import Plan, requests
from opkit.prove.protocol import Request, Runtime
from opkit.prove.runner import Progress
from opkit.prove.split import over_workers

# Called with (mutants judged, 0, what is running): how many there are shows only at the end.


def self_test(plan: Plan, progress: Progress | None = None, sample: Sample | None = None) -> Matrix:
    """Judge every mutant of what the plan names, or a sample of each operator's.

    Raises InvalidDeclaration for mistakes in the YAML, and OpkitError when nothing can be judged at all.
    """
    if plan.package or plan.imports:
        raise OpkitError(
            "--self-test makes mutants of what opkit generates", "leave out --package and --import"
        )
    work = requests(plan)
    # A converter is the same in every style.
    work = [r for r in work if r.mode == "npugraph_ex" or r.style == work[0].style]
    workers = plan.jobs or cores()
    pieces = over_workers(work, workers)
    at_once = min(workers, max(1, len(pieces)))
    memory = plan.memory or memory_share(at_once)
    runs = [_Run(request, plan.timeout, memory, progress, sample) for request in pieces]
    run_together([run.finish for run in runs], at_once)
    runtime = next((run.runtime for run in runs if run.runtime), Runtime("none", "", "", ""))
    return Matrix(
        runtime,
        tuple(b for run in runs for b in run.baselines),
        tuple(v for run in runs for v in run.verdicts),
        sample,
    )


class _Run:
    """Takes the events of the workers of one request, one after another."""

    def __init__(
        self,
        request: Request,
        timeout: float,
        memory: int | None,
        progress: Progress | None,
        sample: Sample | None,
    ) -> None:
        self.sample = sample
        self.request, self.timeout, self.memory, self.progress = request, timeout, memory, progress
        self.runtime: Runtime | None = None
        self.baselines: list[Baseline] = []
        self.verdicts: list[Verdict] = []
        self._at: Mapping[str, Any] | None = None
        self._error: OpkitError | None = None
        self._polluted: int | None = None
        self._careful = 0
        self._judged: set[tuple[str, str]] = set()

    def finish(self, stop: threading.Event) -> None:
        """Run workers until every mutant has a verdict. Raises OpkitError when a worker cannot start."""
        while self.request.subjects and not stop.is_set() and self._once(stop):
            pass

    def _once(self, stop: threading.Event) -> bool:
        """Run one worker to its end; tell whether another one must go on."""
        self._at = self._polluted = None
        request = {
            "request": self.request.to_json(),
            "done": [(v.file, v.operator, v.kind, v.place) for v in self.verdicts],
            "careful": self._careful,
            "sample": None if self.sample is None else asdict(self.sample),
        }
        death = run_worker(
            "opkit.prove.mutants.worker", request, self._take, self.timeout, memory=self.memory
        )
        if stop.is_set():
            return False  # It was ended because of another one.
        if self._error is not None:
            raise self._error
        polluted: int | None = self._polluted
        at: Mapping[str, Any] | None = self._at
        self._careful = polluted or 0
        if polluted is not None or not death:
            return polluted is not None
        if at is None:
            raise OpkitError("the self-test's process died before it judged anything", death)
        if death.startswith(ENDED_FROM_OUTSIDE):
            # No kill: the mutant did not do it.
            raise OpkitError(f"a process of the self-test was ended while it judged {at['operator']}", death)
        self._died(at, death)
        return True

    def _died(self, at: Mapping[str, Any], death: str) -> None:
        """A mutant that takes the process down is found: a proof says the same of the stage it was in."""
        identity = {"file": at["file"], "operator": at["operator"], "style": self.request.style}
        if at["kind"]:
            self.verdicts.append(
                Verdict(
                    **identity,
                    kind=at["kind"],
                    place=at["place"],
                    outcome=KILLED,
                    stage="process",
                    reason=death,
                )
            )
            return
        self._baseline(identity, "breaks", death, None)
        self._leave_out(at)

    def _leave_out(self, event: Mapping[str, Any]) -> None:
        """A worker that takes over has nothing to do for this operator."""
        subjects = tuple(s for s in self.request.subjects if s[:2] != (event["file"], event["operator"]))
        self.request = replace(self.request, subjects=subjects)

    def _take(self, event: Mapping[str, Any]) -> None:
        kind = event["event"]
        if kind == "runtime":
            self.runtime = Runtime(event["kind"], event["torch"], event["torch_npu"], event["soc"])
        elif kind == "error":
            self._error = OpkitError(event["message"], event["help"])
        elif kind == "begin":
            self._at = event
            if self.progress is not None:
                what = f"{self.request.mode}/{self.request.style} {event['operator']} {event['kind']}"
                self.progress(len(self.verdicts), 0, what)
        elif kind == "baseline":
            identity = {"file": event["file"], "operator": event["operator"], "style": self.request.style}
            where = f"{event['stage']}: " if event["stage"] else ""
            self._baseline(identity, event["outcome"], where + event["reason"], event.get("opcheck"))
        elif kind == "finished":
            self._leave_out(event)
        elif kind == "polluted":
            self._polluted = event["again"]
        elif kind == "mutant":
            self._verdict(event)

    def _baseline(self, identity: Mapping[str, str], outcome: str, reason: str, opcheck: str | None) -> None:
        # A worker that takes over judges the operator anew.
        if (identity["file"], identity["operator"]) not in self._judged:
            self._judged.add((identity["file"], identity["operator"]))
            self.baselines.append(
                Baseline(**identity, mode=self.request.mode, outcome=outcome, reason=reason, opcheck=opcheck)
            )

    def _verdict(self, event: Mapping[str, Any]) -> None:
        values = {k: v for k, v in event.items() if k != "event" and v is not None}
        verdict = Verdict(style=self.request.style, **values)
        known = {(v.file, v.operator, v.kind, v.place) for v in self.verdicts}
        if (verdict.file, verdict.operator, verdict.kind, verdict.place) not in known:
            self.verdicts.append(verdict)
