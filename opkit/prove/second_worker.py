"""The second process of stage cache: takes the artifacts that a worker left, and judges what they do.

`python -m opkit.prove.second_worker REQUEST RESULT`, with the subjects whose artifacts are to be judged. One
process judges them all.
"""

from __future__ import annotations

import pickle
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from opkit.prove import artifacts
from opkit.prove.artifacts import Handover, Observation
from opkit.prove.neighbours import teach
from opkit.prove.protocol import PROVED, Request, StageResult, failed, proved
from opkit.prove.setup import Setup, qualified
from opkit.prove.stages.cache import HANDOVER, NAME, compared, short
from opkit.prove.subject import Declared, Setting, Subject, first_line, on_npu, without_own_lines
from opkit.prove.watch import Watch, is_defined
from opkit.prove.worker import Channel, serve, start

_INSTALLED = "not tried: the operator is installed with torch_npu"


def judge(request: Request, channel: Channel) -> None:
    """Judge every subject of the request."""
    runtime = start(request, channel)
    watch = Watch()
    setup = Setup(request, watch, runtime)
    handovers = {subject: _Taken(request, setup, subject) for subject in request.subjects}
    early: dict[tuple[str, str, str], dict[str, str]] = {}
    for subject, taken in handovers.items():
        taken.begin(channel)
        early[subject] = taken.without_the_operator()
    declared = {item.identity: item for item in setup.run()}
    functions = setup.functions(list(declared.values()))
    setting = Setting(
        request.mode, runtime, watch, functions, tuple(declared.values()), artifacts=request.artifacts
    )
    for subject, taken in handovers.items():
        item = declared[subject[:2]]
        taken.begin(channel)
        result = taken.judge(setting, item, early[subject])
        channel.send("stage", stage=result.to_json(), **taken.identity)
        channel.send("finished", **taken.identity)


class _Taken:
    """One operator and case whose artifact is taken."""

    def __init__(self, request: Request, setup: Setup, subject: tuple[str, str, str]) -> None:
        self.request, self.subject = request, subject
        self.identity = dict(zip(("file", "operator", "case"), subject))
        self.home = artifacts.home(request.artifacts, *subject)
        # What the first process wrote, in a directory that is this user's alone.
        self.handover: Handover = pickle.loads((self.home / HANDOVER).read_bytes())
        op_file = next(f for f in setup.files if f.path == subject[0])
        spec = op_file.operator(subject[1])
        assert spec is not None
        self.spec = spec

    def begin(self, channel: Channel) -> None:
        """Say what is judged now: a crash is its failure."""
        channel.send("begin", stage=NAME, style=self.handover.style, **self.identity)

    def without_the_operator(self) -> dict[str, str]:
        """Take a copy of the artifact before anything of the operator is registered, and tell what happens.

        That is what the plain call does when schema, Meta kernel and converter are others than they were: it
        looks at none of them.
        """
        if is_defined(qualified(self.spec, self.request.namespace)):
            return {"plain call": _INSTALLED}
        # Another process may have died here before.
        copy = Path(tempfile.mkdtemp(dir=self.home)) / "copy"
        shutil.copytree(self.handover.directory, copy)
        compiled = artifacts.cached(None, self.request.mode, str(copy))
        if not self.handover.runs:
            return {"plain call": "not tried: GE ran nothing"}
        given = on_npu(self.handover.runs[0].before)
        bare = self.handover.case.call is None
        try:
            args, kwargs = given.call() if bare else ((), dict(given.values))
            compiled(*args, **kwargs)
            outcome = "the artifact runs"
        except Exception as error:
            outcome = first_line(error)
        if compiled._compiled_model is None or not artifacts.is_hit(compiled):
            return {"plain call": "not tried: the artifact cannot be loaded without the module of `call:`"}
        return {
            "plain call": "hits before the operator is registered: it looks at no schema, Meta or converter",
            "without the operator": outcome,
        }

    def judge(self, setting: Setting, item: Declared, early: dict[str, str]) -> StageResult:
        """Judge one subject; an exception that nobody expected is its failure."""
        evidence: dict[str, Any] = {}
        try:
            subject = self._subject(setting, item)
            result = subject if isinstance(subject, StageResult) else self._hit(subject, evidence)
        except Exception as error:
            result = failed(NAME, f"with the artifact of another process: {first_line(error)}", **evidence)
        if result.verdict == PROVED:
            result = proved(NAME, **{**result.evidence, **early})
        return StageResult(NAME, result.verdict, result.evidence, without_own_lines(result.reason))

    def _subject(self, setting: Setting, item: Declared) -> Subject | StageResult:
        from opkit.cann.operators import find_operator

        if item.problem or not is_defined(item.qualified):
            why = f": {item.problem}" if item.problem else ""
            return failed(NAME, f"the second process does not register {item.qualified}{why}")
        case = self.handover.case
        subject = Subject(setting, item, case)
        subject.operator = find_operator(item.qualified)
        subject.call = None if case.call is None else setting.functions.get(case.call)
        subject.signed, subject.random = self.handover.signed, self.handover.random
        subject.uncomputed = self.handover.uncomputed
        return subject

    def _hit(self, subject: Subject, evidence: dict[str, Any]) -> StageResult:
        """Take the artifact, call twice, and compare everything with the first process."""
        first = self.handover
        directory = artifacts.directory_of(self.home, subject)
        if directory != first.directory:
            text = "opkit.cache_dir gives another directory in a second process: what it digests differs"
            return failed(NAME, f"{text} there, although nothing was changed", **evidence)
        if self.request.mode == "ge":
            teach(subject)
        compiled = artifacts.cached(subject, subject.setting.mode, directory)
        inputs = [run.before for run in first.runs] or [subject.inputs(seed=1), subject.inputs(seed=2)]
        seen = artifacts.observe(subject, compiled, inputs)
        file = artifacts.artifact(directory)
        same = file is not None and artifacts.digest_of(file) == first.digest
        evidence["graph"] = short(seen.graph)
        evidence["hit"] = bool(seen.hit)
        evidence["compiles"] = seen.compiles
        evidence["artifact"] = "unchanged" if same else "replaced"
        problem = _missed(seen, same) or seen.problem
        if not problem and seen.graph != first.graph:
            problem = f"the artifact has another graph: {seen.graph}, in the first process {first.graph}"
        problem = problem or compared(subject, seen.runs, first.runs, evidence)
        if problem:
            return failed(NAME, problem, **evidence)
        return proved(NAME, **evidence)


def _missed(seen: Observation, same: bool) -> str:
    why = f": {seen.warnings[0]}" if seen.warnings else ""
    if not seen.hit or seen.compiles:
        return f"the second process compiled again instead of taking the artifact{why}"
    return "" if same else f"the second process changed the artifact{why}"


if __name__ == "__main__":
    sys.exit(serve(judge, *sys.argv[1:]))
