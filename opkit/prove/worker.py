"""The worker process: proves the subjects of one request, one JSON line per finding.

`python -m opkit.prove.worker REQUEST RESULT`. It is started by `opkit.prove.runner`, which sends its standard
output away, so nothing that torch prints can be taken for a finding.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from opkit.errors import OpkitError
from opkit.model.operator import Case
from opkit.processes import die_with_parent
from opkit.prove import kernels
from opkit.prove.cases import Candidate, NoCase, candidates, chosen_case, shown
from opkit.prove.internal import InternalError, unexpected
from opkit.prove.protocol import FAILED, PROVED, Request, StageResult, not_run
from opkit.prove.quick import without_guard_timing
from opkit.prove.reproduce import with_script
from opkit.prove.selection import promised, stages_to_run
from opkit.prove.setup import Setup
from opkit.prove.subject import (
    Declared,
    NotApplicable,
    Setting,
    Subject,
    first_line,
    on_npu,
    without_own_lines,
)
from opkit.prove.values import Inputs
from opkit.prove.watch import Watch, has_meta, is_defined


class Channel:
    """Writes events; each line is complete before the next begins."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def send(self, event: str, **values: Any) -> None:
        """Write one event."""
        self.stream.write(json.dumps({"event": event, **values}, default=str) + "\n")
        self.stream.flush()


def main(request_file: str, result_file: str) -> int:
    """Prove a request. Returns 0 even when operators break, 1 when nothing could be judged."""
    return serve(_prove, request_file, result_file)


def serve(answer: Callable[[Request, Channel], None], request_file: str, result_file: str) -> int:
    """Read a request and answer it on the channel; 1 when nothing could be judged."""
    die_with_parent()
    request = Request.from_json(json.loads(Path(request_file).read_text(encoding="utf-8")))
    with Path(result_file).open("a", encoding="utf-8") as stream:
        channel = Channel(stream)
        try:
            answer(request, channel)
        except OpkitError as error:
            channel.send("error", message=error.message, help=error.help)
            return 1
        except Exception as error:
            found = unexpected(error)
            channel.send("error", message=found.message, help=found.help)
            return 1
    return 0


def start(request: Request, channel: Channel) -> str:
    """Load the runtime, torch and torch_npu; give the runtime's kind."""
    from opkit.cann.load import ensure_runtime

    runtime = ensure_runtime(request.stand_in)
    channel.send(
        "runtime", kind=runtime.kind, torch=runtime.torch, torch_npu=runtime.torch_npu, soc=runtime.soc
    )
    import torch
    import torch_npu  # noqa: F401 - registers the NPU

    torch.npu.set_device(0)
    without_guard_timing()
    # A sign of life for the parent: importing torch takes seconds.
    channel.send("loaded")
    if runtime.kind == "stand-in":
        from opkit.cann.hook import equip

        equip()
    return runtime.kind


def _prove(request: Request, channel: Channel) -> None:
    runtime = start(request, channel)
    watch = Watch()
    setup = Setup(request, watch, runtime)
    declared = {item.identity: item for item in setup.run()}
    functions = setup.functions(list(declared.values()))
    setting = Setting(
        request.mode,
        runtime,
        watch,
        functions,
        tuple(declared.values()),
        artifacts=request.artifacts,
        seed=request.seed,
        imports=request.imports,
        asked=request.stages,
    )
    for file, name, case in request.subjects:
        item, found = _found(declared, file, name, case)
        identity = {"file": file, "operator": name, "case": case}
        elsewhere = setup.elsewhere(item)
        if elsewhere is not None:
            channel.send("elsewhere", text=elsewhere, **identity)
            continue
        also = request.also if request.stages else (*request.also, *promised(item.spec))
        stages = stages_to_run(request.mode, request.stages, also, request.without)
        mine = replace(setting, others=()) if (file, name, case) in request.alone else setting
        Judge(channel, mine, item, identity, stages).judge(found)


def _found(
    declared: Mapping[tuple[str, str], Declared], file: str, name: str, case: str
) -> tuple[Declared, Candidate | NoCase]:
    item = declared.get((file, name))
    for found in candidates(item.spec) if item is not None else ():
        if item is not None and found.name == case:
            return item, found
    raise OpkitError(
        f"{file} was changed while it was proved: it has no {name}, case {case}", "prove it again"
    )


class Judge:
    """Runs the stages of one operator and case."""

    def __init__(
        self,
        channel: Channel,
        setting: Setting,
        declared: Declared,
        identity: dict[str, str],
        stages: tuple[str, ...] = (),
    ) -> None:
        self.channel, self.setting, self.declared, self.identity = channel, setting, declared, identity
        self.stages = stages or stages_to_run(setting.mode)

    def judge(self, found: Candidate | NoCase) -> None:
        """Run stage after stage until one is not proved."""
        names = self.stages
        if isinstance(found, NoCase):
            self._begin(names[0])
            self._stage(not_run(names[0], found.reason))
            self.channel.send("finished", **self.identity)
            return
        self._begin(names[0])
        case = self._choose(found)
        subject = Subject(self.setting, self.declared, case)
        self.channel.send("inputs", inputs=shown(case), **self.identity)
        subject.call = None if case.call is None else self.setting.functions.get(case.call)
        for name in names:
            self._begin(name)
            if self._omit(name, subject):
                continue
            try:
                result = with_script(self._run(name, subject), subject)
            except NotApplicable as reason:
                self.channel.send("omitted", stage=name, text=str(reason), **self.identity)
                continue
            if name == "cache" and result.verdict == PROVED:
                # So far only the half of it: a second process takes what this one wrote.
                self.channel.send("pending", stage=name, **self.identity)
                return
            self._stage(result)
            if result.verdict != PROVED:
                break
        self.channel.send("finished", **self.identity)

    def _begin(self, stage: str) -> None:
        self.channel.send("begin", stage=stage, style=self.declared.style, **self.identity)

    def _stage(self, result: StageResult) -> None:
        result = replace(result, reason=without_own_lines(result.reason))
        self.channel.send("stage", stage=result.to_json(), **self.identity)

    def _run(self, name: str, subject: Subject) -> StageResult:
        """Run one stage; an exception that it did not expect is its failure, with the type and text."""
        try:
            return _stage_function(name)(subject)
        except (InternalError, NotApplicable):
            raise
        except Exception as error:
            return StageResult(name, FAILED, {}, first_line(error))

    def _choose(self, found: Candidate) -> Case:
        """Take the first alternative that Meta and eager kernel accept, else the first that Meta accepts."""
        if len(found.alternatives) == 1:
            return found.alternatives[0][1]
        half: list[tuple[str, Case]] = []
        for what, case in found.alternatives:
            meta, kernel = self._accepts(case)
            if meta and kernel:
                self._note(f"case made from the schema: {what}")
                return case
            half += [(what, case)] if meta else []
        who = "the eager kernel" if half else "the Meta kernel"
        self._note(f"cases made from the schema; {who} accepts none of them: write `cases:`")
        return (half or list(found.alternatives))[0][1]

    def _accepts(self, case: Case) -> tuple[bool, bool]:
        """Tell whether Meta and eager kernel take these inputs; what is not there refuses nothing."""
        from opkit.cann.operators import find_operator
        from opkit.prove import fake

        name = self.declared.qualified
        if self.declared.problem or not is_defined(name):
            return True, True
        operator = find_operator(name)
        subject = Subject(self.setting, self.declared, case)
        given = on_npu(subject.inputs())
        meta = not has_meta(name) or _succeeds(lambda: fake.call(operator, given))
        # Should the kernel take the process with it, that is a failure of stage host.
        self._begin("host")
        # A kernel may refuse negative numbers, which says nothing about the shapes.
        unsigned = on_npu(replace(subject, signed=False).inputs())
        return meta, meta and any(_succeeds(partial(_call, operator, made)) for made in (given, unsigned))

    def _omit(self, name: str, subject: Subject) -> bool:
        """Leave out a stage that does not apply, and say why."""
        reason = ""
        if subject.case.raises:
            if name not in ("schema", "meta", "host"):
                reason = "the case is one that the operator refuses: no graph was tried"
        elif name == "variations":
            if importlib.util.find_spec("hypothesis") is None:
                reason = "no varied cases were drawn: hypothesis is not installed (pip install 'opkit[npu]')"
        elif name == "composition":
            chosen = chosen_case(self.declared.spec)
            if subject.case.name != chosen:
                reason = f"an operator is composed in one case only: {chosen!r}"
        elif name != "values":
            return False
        elif self.declared.reference is None and (self.setting.mode == "ge" or kernels.is_bound(subject)):
            reason = "values not compared: the YAML names no reference function"
        elif self.declared.reference is None and subject.random:
            reason = "values not compared: the operator draws random numbers on the NPU"
        elif subject.uncomputed:
            reason = f"values not compared: the stand-in does not compute {', '.join(subject.uncomputed)}"
        elif not subject.runs:
            reason = "values not compared: no run was executed"
        elif self.setting.mode == "ge" and not kernels.is_bound(subject):
            reason = (
                "values not compared in GE: the operator has an NPU kernel of its own, which GE does not run"
            )
        if reason:
            self.channel.send("omitted", stage=name, text=reason, **self.identity)
        return bool(reason)

    def _note(self, text: str) -> None:
        self.channel.send("note", text=text, **self.identity)


def _call(operator: Any, given: Inputs) -> object:
    args, kwargs = given.call()
    return operator(*args, **kwargs)


def _succeeds(action: Callable[[], object]) -> bool:
    try:
        action()
    except Exception:
        return False
    return True


def _stage_function(name: str) -> Callable[[Subject], StageResult]:
    """Import a stage when it is needed: torchair must not be imported in an npugraph_ex worker."""
    run: Callable[[Subject], StageResult] = importlib.import_module(f"opkit.prove.stages.{name}").run
    return run


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
