"""Stage cache: what `cache_compile` saves in one process is taken in a second one, and does the same.

This is the first process: it compiles, and leaves the artifact and what it saw to the second one
(`opkit.prove.second_worker`). Both use `opkit.cache_dir`, as a user should.
"""

from __future__ import annotations

import pickle
from typing import Any

from opkit.prove import artifacts, kernels
from opkit.prove.compare import close
from opkit.prove.protocol import StageResult, failed, proved
from opkit.prove.stages.dynamo import explain
from opkit.prove.subject import Run, Subject, flat_tensors, place, run_eagerly

NAME = "cache"
HANDOVER = "handover.pickle"


def run(subject: Subject) -> StageResult:
    """Compile with `cache_compile` and see that an artifact is written; the second process judges it."""
    spec = subject.declared
    base = artifacts.home(subject.setting.artifacts, spec.op_file.path, spec.spec.name, subject.case.name)
    base.mkdir(parents=True)
    directory = artifacts.directory_of(base, subject)
    evidence: dict[str, Any] = {}
    inputs = [subject.inputs(seed=1), subject.inputs(seed=2)]
    known = len(subject.runs)
    try:
        seen = artifacts.observe(subject, artifacts.cached(subject, subject.setting.mode, directory), inputs)
    except Exception as error:
        return failed(NAME, f"cache_compile fails: {explain(error)}", **evidence)
    finally:
        del subject.runs[known:]  # The values stage has its own.
    file = artifacts.artifact(directory)
    evidence["graph"] = short(seen.graph)
    if seen.warnings:
        evidence["warnings"] = seen.warnings
    if seen.problem:
        return failed(NAME, seen.problem, **evidence)
    if file is None:
        why = f": {seen.warnings[0]}" if seen.warnings else ""
        return failed(NAME, f"cache_compile compiled, and wrote no artifact{why}", **evidence)
    wrong = compared(subject, seen.runs, None, evidence)
    if wrong:
        return failed(NAME, wrong, **evidence)
    handover = artifacts.Handover(
        directory, artifacts.digest_of(file), seen.graph, seen.runs, subject.case,
        subject.signed, subject.random, subject.uncomputed, spec.style,
    )  # fmt: skip
    (base / HANDOVER).write_bytes(pickle.dumps(handover))
    return proved(NAME, **evidence)


def compared(subject: Subject, runs: list[Run], wanted: list[Run] | None, evidence: dict[str, Any]) -> str:
    """Compare runs with those of the other process, or with eager calls; empty when they agree."""
    whose = "the eager call" if wanted is None else "the first process"
    why_not = _not_comparable(subject, eager=wanted is None)
    if why_not or not runs:
        evidence["results"] = f"not compared: {why_not or 'GE ran nothing'}"
        return ""
    for index, done in enumerate(runs):
        want = run_eagerly(subject, done.before) if wanted is None else wanted[index]
        problem = _differs(done, want, whose)
        if problem:
            return f"{done.what}: {problem}"
    evidence["results"] = f"equal {'eager calls' if wanted is None else 'those of the first process'}"
    return ""


def _not_comparable(subject: Subject, eager: bool) -> str:
    if subject.uncomputed:
        return f"the stand-in does not compute {', '.join(subject.uncomputed)}"
    if subject.random:
        return "the operator draws random numbers on the NPU"
    if eager and subject.setting.mode == "ge" and not kernels.is_bound(subject):
        return "the operator has an NPU kernel of its own, which GE does not run"
    return ""


def _differs(done: Run, want: Run, whose: str) -> str:
    if len(done.results) != len(want.results):
        return f"{len(done.results)} results, {whose} has {len(want.results)}"
    for index, (mine, theirs) in enumerate(zip(done.results, want.results)):
        problem = close(f"result {index}", flat_tensors([mine]), flat_tensors([theirs]), whose)
        if problem:
            return problem
    for (path, mine), (_, theirs) in zip(done.after.tensors(), want.after.tensors()):
        problem = close(f"argument {place(path)} after the call", [mine], [theirs], whose)
        if problem:
            return problem
    return ""


def short(graph: list[Any] | None) -> Any:
    """Print a graph in a line a node; the nodes in full are in the evidence of stage ge."""
    if graph is None:
        return "not listed: the real runtime does not tell the tasks of a captured model"
    return [item if isinstance(item, str) else f"{item['name']}: {item['type']}" for item in graph]
