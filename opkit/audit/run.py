"""Runs the host judge: one worker process per SoC, a new one after each crash. Imports no torch."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from opkit.audit.protocol import CRASHES, Comparison, HostReport, Judgement, Request
from opkit.audit.rule import is_absent
from opkit.errors import OpkitError
from opkit.files import data_directory
from opkit.model.operator import OpFile, OpSpec
from opkit.processes import run_worker
from opkit.shape.environment import soc_family

# The oldest CANN for which torch_npu takes every operator that has a rule.
CANN = "9.0.0"
# The SoC for which the shipped cases were written.
_SHIPPED_FOR = "910B"
# Called with (finished operators, all operators, what is judged).
Progress = Callable[[int, int, str], None]


@dataclass
class _Collector:
    """What the workers of one SoC found."""

    request: Request
    runtime: Mapping[str, str] = field(default_factory=dict)
    found: dict[tuple[str, str], list[Comparison]] = field(default_factory=dict)
    finished: set[tuple[str, str]] = field(default_factory=set)
    # What is being judged: (file, operator), and the call.
    current: tuple[str, str] | None = None
    call: str = ""
    error: OpkitError | None = None

    def take(self, event: Mapping[str, Any]) -> None:
        kind = event["event"]
        if kind == "runtime":
            self.runtime = {key: event[key] for key in ("kind", "torch", "torch_npu")}
        elif kind == "error":
            self.error = OpkitError(event["message"], event["help"])
        elif kind == "operator":
            self.current, self.call = (event["file"], event["operator"]), ""
            self.found[self.current] = []
        elif kind == "call":
            self.call = event["call"]
        elif kind == "comparison" and self.current is not None:
            self.found[self.current].append(Comparison(**event["comparison"]))
            self.call = ""
        elif kind == "finished" and self.current is not None:
            self.finished.add(self.current)
            self.current = None

    def ended(self, how: str) -> None:
        """Close what a worker left open when it ended."""
        if self.current is None:
            if how and self.error is None:
                self.error = OpkitError("a worker of the host judge died before it judged anything", how)
            return
        self.found[self.current].append(Comparison(self.call or "before any call", CRASHES, how, ""))
        self.finished.add(self.current)
        self.current = None

    def remaining(self) -> tuple[tuple[str, str], ...]:
        return tuple(subject for subject in self.request.subjects if subject not in self.finished)


def judge_host(
    files: Sequence[OpFile],
    operators: Sequence[str] = (),
    socs: Sequence[str] = ("910B",),
    cann: str = CANN,
    namespace: str = "npu",
    stand_in: bool | None = None,
    timeout: float = 120.0,
    progress: Progress | None = None,
) -> HostReport:
    """Compare the rules of some files with the installed wheel's host code, on every SoC.

    What cases say about refusal holds on the SoC they were written for: 910B for those that ship, else the
    first one. On another SoC a call may be refused, or taken, by both.
    Raises OpkitError when nothing can be judged: an operator that no file has, no torch_npu, an unknown SoC.
    """
    from opkit.prove.plan import is_selected

    subjects = tuple(
        (op_file.path, spec.name)
        for op_file in files
        for spec in op_file.operators
        if is_selected(tuple(operators), spec)
    )
    known = [spec for op_file in files for spec in op_file.operators]
    for name in operators:
        if not any(is_selected((name,), spec) for spec in known):
            raise OpkitError(f"no rule file has an operator {name}", "check the name given to --op")
    home = soc_family(_written_for(files, socs))
    collectors = [
        _Collector(Request(soc, cann, namespace, subjects, stand_in, soc_family(soc) == home)) for soc in socs
    ]

    def report(what: str) -> None:
        if progress is not None:
            progress(sum(len(c.finished) for c in collectors), len(subjects) * len(collectors), what)

    with ThreadPoolExecutor(max_workers=min(len(collectors), os.cpu_count() or 1)) as pool:
        for future in [pool.submit(_run, collector, timeout, report) for collector in collectors]:
            future.result()
    return _assemble(collectors, {(f.path, s.name): s for f in files for s in f.operators})


def _written_for(files: Sequence[OpFile], socs: Sequence[str]) -> str:
    """Name the SoC whose refusals the cases tell."""
    shipped = data_directory("yaml_schemas").resolve()
    return _SHIPPED_FOR if all(Path(f.path).resolve().is_relative_to(shipped) for f in files) else socs[0]


def _assemble(collectors: Sequence[_Collector], specs: Mapping[tuple[str, str], OpSpec]) -> HostReport:
    runtime = next((c.runtime for c in collectors if c.runtime), {})
    judgements = tuple(
        Judgement(
            file,
            operator,
            collector.request.soc,
            tuple(collector.found[file, operator]),
            specs[file, operator].mark.line,
            collector.request.primary and not is_absent(specs[file, operator], collector.request.soc),
        )
        for file, operator in collectors[0].request.subjects
        for collector in collectors
    )
    return HostReport(
        runtime.get("kind", "none"), runtime.get("torch", ""), runtime.get("torch_npu", ""), judgements
    )


def _run(collector: _Collector, timeout: float, report: Callable[[str], None]) -> None:
    """Run workers until every operator has been judged."""
    while remaining := collector.remaining():
        before = len(collector.finished)
        ending = _run_worker(replace(collector.request, subjects=remaining), collector, timeout, report)
        collector.ended(ending)
        if collector.error is not None:
            raise collector.error
        if len(collector.finished) == before:
            raise OpkitError("a worker of the host judge ended without judging anything", ending)


def _run_worker(
    request: Request, collector: _Collector, timeout: float, report: Callable[[str], None]
) -> str:
    """Run one worker to its end; return "" or how it died."""

    def take(event: Mapping[str, Any]) -> None:
        collector.take(event)
        if collector.current:
            report(f"{request.soc} {collector.current[1]}")

    environment = {"OPKIT_SOC": request.soc, "OPKIT_CANN": request.cann}
    return run_worker("opkit.audit.worker", request.to_json(), take, timeout, environment)
