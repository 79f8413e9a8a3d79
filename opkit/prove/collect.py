"""Gathers the events of one worker into results, filling in what a dead worker could not say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from opkit.errors import OpkitError
from opkit.processes import ENDED_FROM_OUTSIDE
from opkit.prove.plan import Plan
from opkit.prove.protocol import (
    FAILED,
    NOT_RUN,
    PROVED,
    STAGES,
    ModeResult,
    OperatorResult,
    Proof,
    Request,
    Runtime,
    StageResult,
    not_run,
)
from opkit.prove.selection import stages_to_run, why_not_asked

Subject = tuple[str, str, str]
# The stage that a second process judges.
SECOND = "cache"
# The stage in which other operators share the graph.
TOGETHER = "composition"


class Collector:
    """Takes the events of the workers of one request, one after another."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.runtime: Runtime | None = None
        self.tool_error: OpkitError | None = None
        self.finished: dict[Subject, None] = {}
        # Subjects of which a second process has to take what the first one left.
        self.pending: list[Subject] = []
        self.stages: dict[Subject, dict[str, StageResult]] = {s: {} for s in request.subjects}
        self.notes: dict[Subject, list[str]] = {s: [] for s in request.subjects}
        # Stages that do not apply to an operator; the worker says why in a note.
        self.omitted: dict[Subject, dict[str, str]] = {s: {} for s in request.subjects}
        self.styles: dict[Subject, str] = {}
        self.inputs: dict[Subject, Mapping[str, Any]] = {}
        # What workers said of each subject, and the subjects of which they said all there is to say.
        self.events: dict[Subject, list[Mapping[str, Any]]] = {s: [] for s in request.subjects}
        self.judged: list[Subject] = []
        # When the results were found that were taken from the cache.
        self.proved_at: dict[Subject, str] = {}
        # Subjects that died in a graph with other operators, and how.
        self.alone: dict[Subject, str] = {}
        # Subjects that the first style alone judges, and why.
        self.elsewhere: dict[Subject, str] = {}
        # What the running worker is at: (subject, stage).
        self._current: tuple[Subject, str] | None = None

    def remaining(self) -> tuple[Subject, ...]:
        """List the subjects that no first process has judged, in order."""
        return tuple(s for s in self.request.subjects if s not in self.finished and s not in self.pending)

    def take(self, event: Mapping[str, Any]) -> None:
        """Take one event of a worker."""
        kind = event["event"]
        if kind == "runtime":
            self.runtime = Runtime(event["kind"], event["torch"], event["torch_npu"], event["soc"])
            return
        if kind == "loaded":
            return
        if kind == "error":
            self.tool_error = OpkitError(event["message"], event["help"])
            return
        subject: Subject = (event["file"], event["operator"], event["case"])
        self.events[subject].append(event)
        if kind in ("finished", "elsewhere"):
            self.judged.append(subject)
        if kind == "begin":
            self._current = (subject, event["stage"])
            self.styles[subject] = event["style"]
        elif kind == "stage":
            result = StageResult.from_json(event["stage"])
            self.stages[subject][result.name] = result
        elif kind == "inputs":
            self.inputs[subject] = event["inputs"]
        elif kind == "note":
            self.notes[subject].append(event["text"])
        elif kind == "omitted":
            self.omitted[subject][event["stage"]] = event["text"]
            if event["text"] not in self.notes[subject]:
                self.notes[subject].append(event["text"])
        elif kind == "elsewhere":
            self.elsewhere[subject] = event["text"]
            self.finished[subject] = None
        elif kind == "pending":
            self.pending.append(subject)
            self._current = None
        elif kind == "finished":
            self._finish(subject)
            self._current = None

    def ended(self, death: str) -> None:
        """Take note that a worker ended; `death` says how it died, or is empty."""
        current, self._current = self._current, None
        if not death or self.tool_error is not None:
            return
        if current is not None:
            subject, stage = current
            if self._with_others(subject, stage, death):
                return
            self.stages[subject][stage] = _ending(stage, death)
            self._finish(subject)
            return
        if self.pending:
            for subject in tuple(self.pending):
                self.stages[subject][SECOND] = _ending(SECOND, death, "the second process: ")
                self._finish(subject)
            return
        # It never came to an operator, so nothing that is left can be judged by another try.
        for subject in self.remaining():
            first = self._stages()[0]
            self.stages[subject][first] = _ending(first, death, "registration: ")
            self.finished[subject] = None

    def _with_others(self, subject: Subject, stage: str, death: str) -> bool:
        """Tell whether another operator of the graph may have been it: then one more try without is due."""
        if stage != TOGETHER or not self.request.company or subject in self.alone:
            return False
        self.alone[subject] = death
        self.stages[subject], self.notes[subject], self.omitted[subject] = {}, [], {}
        how = death.splitlines()[0].split(";")[0]
        self.notes[subject].append(
            f"not proved in one graph with other operators of the file: with them {how}"
        )
        return True

    def _finish(self, subject: Subject) -> None:
        self.finished[subject] = None
        if subject in self.pending:
            self.pending.remove(subject)

    def _stages(self) -> tuple[str, ...]:
        request = self.request
        return stages_to_run(request.mode, request.stages, request.also, request.without)

    def result(self, subject: Subject, notes: Iterable[str] = ()) -> ModeResult:
        """Give the mode's result, with every stage that did not run named as such."""
        known = self.stages[subject]
        # A worker may die in a trial of the kernel, before the stages in front of it had their turn.
        blocker = next((name for name, stage in known.items() if stage.verdict != PROVED), "")
        stages: list[StageResult] = []
        running, asked = self._stages(), self.request.stages
        for name in STAGES[self.request.mode]:
            stage = known.get(name)
            omitted = self.omitted[subject].get(name)
            if stage is None and name not in running:
                stages += [not_run(name, why_not_asked(asked))] if asked else []
                continue
            if stage is None and omitted is not None:
                # Asked for by name it does not go away, or nothing would be called proved.
                stages += [not_run(name, f"because {omitted}")] if name in asked else []
                continue
            after = any(earlier.name == blocker for earlier in stages)
            stages.append(stage or not_run(name, _why(known.get(blocker), after)))
        of_mode = tuple(name for name in asked if name in STAGES[self.request.mode])
        notes = (*self.notes[subject], *notes)
        when = self.proved_at.get(subject, "")
        return ModeResult(self.request.mode, tuple(stages), notes, of_mode, when)


def _why(blocker: StageResult | None, after: bool) -> str:
    """Say why a stage was not run: `blocker` is what kept it, and came before it or, in a trial, after."""
    if blocker is None:
        return "because the process failed"
    if blocker.verdict != NOT_RUN:
        return f"because {blocker.name} failed"
    return f"because {blocker.name} was not run" if after else blocker.reason


def _ending(stage: str, death: str, when: str = "") -> StageResult:
    """Judge the stage in which a worker died: a crash is its failure, being ended by others is not."""
    if death.startswith(ENDED_FROM_OUTSIDE):
        return not_run(stage, f"because somebody ended it, or the machine is out of memory: {death}")
    return StageResult(stage, FAILED, {}, f"{when}{death}")


def assemble(plan: Plan, collectors: list[Collector], order: Sequence[Subject] = ()) -> Proof:
    """Put the results of all modes and styles together, in the order of the files or in another."""
    table: dict[tuple[str, Subject], dict[str, ModeResult]] = {}
    for collector in collectors:
        mode = collector.request.mode
        for subject in collector.request.subjects:
            if subject in collector.elsewhere:
                continue
            style = collector.styles.get(subject, collector.request.style)
            table.setdefault((style, subject), {})[mode] = collector.result(
                subject, _left_out(collectors, subject)
            )
    order = order or [subject for c in collectors for subject in c.request.subjects]
    position = {subject: index for index, subject in reversed(list(enumerate(order)))}
    ordered = sorted(table.items(), key=lambda item: (position[item[0][1]], item[0][0] != "library"))
    inputs = {subject: given for c in collectors for subject, given in c.inputs.items()}
    operators = tuple(
        OperatorResult(
            name, style, case, tuple(modes[m] for m in plan.modes if m in modes), file,
            inputs.get((file, name, case), {}),
        )
        for (style, (file, name, case)), modes in ordered
    )  # fmt: skip
    runtime = next((c.runtime for c in collectors if c.runtime), Runtime("none", "", "", ""))
    return Proof(runtime, operators, plan.stages)


def _left_out(collectors: list[Collector], subject: Subject) -> list[str]:
    """List why other styles left a subject out, each reason once."""
    return list(dict.fromkeys(text for c in collectors if (text := c.elsewhere.get(subject))))
