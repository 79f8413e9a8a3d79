"""Surveys an installed package: asks its operators in worker processes, and decides which graphs they enter.

Four workers: what is registered; torchair's converters, which need a process of their own; and on the
stand-in the kernels, once as a SoC that takes no aclop kernels and once as one that does. Imports no torch.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

from opkit.audit.findings import Finding, Survey, judged
from opkit.errors import OpkitError
from opkit.model.operator import OpSpec
from opkit.processes import run_worker
from opkit.shipped import shipped_exceptions, shipped_packages, shipped_rules

# Called with (finished operators, all operators, what is asked).
Progress = Callable[[int, int, str], None]
ACLNN_ONLY_SOC = "950"
_MOST_IN_A_ROW = 3


@dataclass
class _Task:
    """One question asked of every operator."""

    task: str
    soc: str
    request: Mapping[str, Any]
    runtime: Mapping[str, str] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    facts: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    # Operators that took the worker with them, and how it died.
    died: dict[str, str] = field(default_factory=dict)
    current: str = ""
    error: OpkitError | None = None

    def take(self, event: Mapping[str, Any]) -> None:
        kind = event["event"]
        if kind == "runtime":
            self.runtime = {key: event[key] for key in ("kind", "torch", "torch_npu", "soc")}
        elif kind == "operators":
            self.names = tuple(event["names"])
        elif kind == "operator":
            self.current = event["operator"]
        elif kind == "facts":
            self.facts[event["operator"]] = event["facts"]
            self.current = ""
        elif kind == "error":
            self.error = OpkitError(event["message"], event["help"])

    def run(self, timeout: float, report: Callable[[], None]) -> None:
        """Ask until every operator has answered or died.

        Raises OpkitError when workers die one after the other without an answer in between.
        """
        in_a_row = 0
        while not self.names or len(self.facts) + len(self.died) < len(self.names):
            answered = len(self.facts)
            done = [*self.facts, *self.died]

            def take(event: Mapping[str, Any]) -> None:
                self.take(event)
                report()

            request = {**self.request, "task": self.task, "done": done}
            ending = run_worker("opkit.audit.survey_worker", request, take, timeout, {"OPKIT_SOC": self.soc})
            if self.error is not None:
                raise self.error
            if self.current:
                self.died[self.current] = ending.split(";")[0] if ending else "the worker ended early"
                self.current = ""
                in_a_row = in_a_row + 1 if len(self.facts) == answered else 0
            if ending and (in_a_row > _MOST_IN_A_ROW or not self.died):
                raise OpkitError(f"a worker of the audit died ({self.task})", ending)


def survey(
    subject: str,
    soc: str = "910B",
    stand_in: bool | None = None,
    timeout: float = 60.0,
    progress: Progress | None = None,
) -> Survey:
    """Ask every operator of a namespace, a shared library or a package which graphs it can enter.

    Raises OpkitError when there is nothing to ask: no such package, no torch_npu, a worker that cannot start.
    """
    rules = shipped_rules()
    reasons = {
        name if "::" in name else f"npu::{name}": why
        for package in shipped_packages()
        for name, why in shipped_exceptions(package).items()
    }
    if subject.endswith(".so"):
        subject = os.path.abspath(subject)
    request = {"subject": subject, "stand_in": stand_in}
    on_stand_in = {"subject": subject, "stand_in": True}
    tasks = [
        _Task("registered", soc, request),
        _Task("converters", soc, request),
        _Task("kernels", ACLNN_ONLY_SOC, on_stand_in),
        _Task("kernels", soc, on_stand_in),
    ]

    def report() -> None:
        if progress is not None:
            total = max(len(task.names) for task in tasks) * len(tasks)
            now = next((task for task in tasks if task.current), tasks[0])
            progress(sum(len(t.facts) + len(t.died) for t in tasks), total, f"{now.task} {now.current}")

    with ThreadPoolExecutor(max_workers=min(len(tasks), os.cpu_count() or 1)) as pool:
        for future in [pool.submit(task.run, timeout, report) for task in tasks]:
            future.result()
    return _assembled(subject, soc, tasks, rules, reasons)


def _assembled(
    subject: str, soc: str, tasks: list[_Task], rules: Mapping[str, OpSpec], reasons: Mapping[str, str]
) -> Survey:
    registered, converters, aclnn_only, kernels = tasks
    findings = []
    for name in registered.names:
        finding = Finding(
            name=name,
            **_registered(registered.facts.get(name)),
            **_converter(converters.facts.get(name)),
            **_kernel(aclnn_only.facts.get(name), kernels.facts.get(name)),
            rule=name in rules,
            corrected=name in rules and bool(rules[name].corrects),
            no_rule=reasons.get(name, ""),
            returns_argument=name in rules and _returns_argument(rules[name]),
        )
        findings.append(replace(finding, graphs=judged(finding)))
    problems = tuple(
        f"{name}: asked for its {task.task} on {task.soc}: {how}"
        for task in tasks
        for name, how in task.died.items()
    )
    runtime = registered.runtime
    return Survey(
        subject, runtime["kind"], runtime["torch"], runtime["torch_npu"], runtime["soc"] or soc,
        tuple(findings), problems,
    )  # fmt: skip


def _returns_argument(spec: OpSpec) -> bool:
    return spec.meta is not None and any(output.alias is not None for output in spec.meta.outputs)


def _registered(facts: Mapping[str, Any] | None) -> dict[str, Any]:
    if facts is None:
        raise OpkitError("an operator could not be described", "`opkit doctor` checks the installation")
    return {**facts, "signature": tuple(facts["signature"]), "mutated": tuple(facts["mutated"])}


def _converter(facts: Mapping[str, Any] | None) -> dict[str, Any]:
    return dict(facts) if facts is not None else {"converter": "unknown", "automatic": ""}


def _kernel(aclnn_only: Mapping[str, Any] | None, called: Mapping[str, Any] | None) -> dict[str, Any]:
    """Put together what the two SoCs told: kernels that were seen count before what a refusal tells."""
    seen = called or {"kernel": "unknown", "launches": []}
    kind = seen["kernel"]
    if kind == "unknown" and aclnn_only is not None:
        kind = aclnn_only["kernel"]
    return {"kernel": kind, "launches": tuple(seen["launches"])}
