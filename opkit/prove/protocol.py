"""What the prover says: stages, verdicts and evidence, and the two JSON forms they travel in.

A worker process writes one JSON object per line (see `opkit.prove.worker`); the report is `Proof.to_json()`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from opkit import __version__
from opkit.model.diagnostic import Diagnostic, Mark, Severity, has_errors

PROVED, FAILED, NOT_RUN = "proved", "failed", "not run"
ENTERS, BREAKS = "enters", "breaks"
# Verdicts of a mode in which everything that was asked for is proved.
HOLDS = (ENTERS, PROVED)

MODES = ("npugraph_ex", "ge")
# In the order they run; a stage that is not proved stops the ones after it.
STAGES: Mapping[str, tuple[str, ...]] = {
    "npugraph_ex": (
        "schema", "meta", "host", "variations", "dynamo", "npugraph_ex", "values", "composition", "cache",
    ),
    "ge": ("schema", "meta", "host", "variations", "dynamo", "ge", "values", "composition", "cache"),
}  # fmt: skip
# Stages that are no part of a proof unless somebody asks for them (`--stage`, `--also`).
ON_REQUEST: frozenset[str] = frozenset({"cache"})
# Bumped whenever a key of the report changes its meaning or goes away.
SCHEMA_VERSION = 1


@dataclass(frozen=True)
class StageResult:
    """What one stage found out about one operator and case."""

    name: str
    # "proved", "failed" or "not run".
    verdict: str
    # What was seen; JSON values only.
    evidence: Mapping[str, Any] = field(default_factory=dict)
    # Why it failed or was not run; empty when proved.
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        """Give the report's form."""
        return {
            "name": self.name,
            "verdict": self.verdict,
            "evidence": dict(self.evidence),
            "reason": self.reason,
        }

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> StageResult:
        """Read the form `to_json` wrote."""
        return StageResult(value["name"], value["verdict"], value["evidence"], value["reason"])


def proved(name: str, **evidence: Any) -> StageResult:
    """Say that the stage holds."""
    return StageResult(name, PROVED, evidence)


def failed(name: str, reason: str, **evidence: Any) -> StageResult:
    """Say that the stage does not hold, and why."""
    return StageResult(name, FAILED, evidence, reason)


def not_run(name: str, reason: str) -> StageResult:
    """Say that the stage was not run, and why; the reason starts with "because"."""
    return StageResult(name, NOT_RUN, {}, reason)


@dataclass(frozen=True)
class ModeResult:
    """All stages of one mode for one operator and case."""

    mode: str
    stages: tuple[StageResult, ...]
    # What the reader should know although it decides nothing, e.g. how the case was made.
    notes: tuple[str, ...] = ()
    # The stages of this mode that were asked for; empty for the whole proof.
    asked: tuple[str, ...] = ()
    # When a result taken from the cache was found (UTC, ISO 8601); empty for one that was found now.
    proved_at: str = ""

    @property
    def verdict(self) -> str:
        """`enters` if every stage is proved, `breaks` if one failed, `not run` otherwise.

        Where only some stages were asked for nothing is known to enter: the most there is then is `proved`.
        """
        verdicts = {stage.verdict for stage in self.stages}
        if FAILED in verdicts:
            return BREAKS
        if self.asked:
            found = [stage.verdict for stage in self.stages if stage.name in self.asked]
            return PROVED if len(found) == len(self.asked) and set(found) == {PROVED} else NOT_RUN
        return ENTERS if verdicts == {PROVED} else NOT_RUN

    @property
    def reason(self) -> str:
        """`stage: reason` of the first stage that is not proved; empty when all asked for is proved."""
        if self.verdict in HOLDS:
            return ""
        for verdict in (FAILED, NOT_RUN):
            for stage in self.stages:
                wanted = verdict == FAILED or not self.asked or stage.name in self.asked
                if stage.verdict == verdict and wanted:
                    return f"{stage.name}: {stage.reason}"
        return "" if self.stages else "no stage was run"


@dataclass(frozen=True)
class OperatorResult:
    """One operator in one style with one case, in every mode that was asked for."""

    name: str
    # "library", "custom-op", "package" (imported from a generated package), "import" (the user's own module)
    # or "installed" (as the installed package registered it).
    style: str
    case: str
    modes: tuple[ModeResult, ...]
    # The YAML that declares it.
    file: str = ""
    # What the case passed, by argument: `f16[B, 8]` or the value of a host argument. Names of dims are sizes.
    inputs: Mapping[str, Any] = field(default_factory=dict)
    # Where the YAML declares it, and what it says there; 0 and empty when that is not known.
    line: int = 0
    declaration: str = ""
    # The command that proves it again, but for the mode.
    command: str = ""

    def reproduce(self, mode: str) -> str:
        """Give the command that proves it again in one mode; empty when that is not known."""
        return f"{self.command} --mode {mode}" if self.command else ""


@dataclass(frozen=True)
class Runtime:
    """The runtime that produced the evidence."""

    # "cann" or "stand-in"; "none" when no worker came as far as loading one.
    kind: str
    torch: str
    torch_npu: str
    soc: str


@dataclass(frozen=True)
class Scope:
    """What a report is about, so that reports can be compared and put together."""

    # The directory of the command: reports of two machines name the same file relative to it.
    directory: str = ""
    # Of each YAML file, a digest of what it holds.
    declarations: Mapping[str, str] = field(default_factory=dict)
    # (which, of how many) shards this is; None for all there is.
    shard: tuple[int, int] | None = None
    # With a shard: all operators and cases (file, operator, case), those of other shards included.
    subjects: tuple[tuple[str, str, str], ...] = ()
    # The git revision of which only what has changed since was proved; empty for everything.
    changed_since: str = ""
    # Why there was nothing to prove; empty when there was something.
    nothing: str = ""
    # The installed package whose operators these are; empty for those of files.
    installed: str = ""
    # Stages that were left out.
    without: tuple[str, ...] = ()
    # Why the package's other operators were not tried, by name.
    not_proved: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Give the report's form."""
        return {
            **vars(self),
            "declarations": dict(self.declarations),
            "without": list(self.without),
            "not_proved": dict(self.not_proved),
            "shard": None if self.shard is None else list(self.shard),
            "subjects": [list(subject) for subject in self.subjects],
        }

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> Scope:
        """Read the form `to_json` wrote."""
        return Scope(
            **{
                **value,
                "without": tuple(value["without"]),
                "shard": None if value["shard"] is None else tuple(value["shard"]),
                "subjects": tuple((file, name, case) for file, name, case in value["subjects"]),
            }
        )


@dataclass(frozen=True)
class Proof:
    """The whole report."""

    runtime: Runtime
    operators: tuple[OperatorResult, ...]
    # The stages that were asked for; empty for the whole proof.
    stages: tuple[str, ...] = ()
    scope: Scope = Scope()
    # Where promise and evidence differ; None where nobody asked (`opkit.prove.gate`).
    gate: tuple[Diagnostic, ...] | None = None

    @property
    def holds(self) -> bool:
        """Tell whether all that was asked for is proved, or nothing was to be proved, with a reason.

        For the whole proof of something this is `enters`; a proof of some stages never `enters`. With a gate
        it is whether promise and evidence are the same, known failures excepted.
        """
        if self.gate is not None and self.operators:
            return not has_errors(self.gate)
        return bool(self.operators or self.scope.nothing) and all(
            mode.verdict in HOLDS for operator in self.operators for mode in operator.modes
        )

    @property
    def enters(self) -> bool:
        """Tell whether there is at least one operator and every one enters every requested mode."""
        return bool(self.operators) and all(
            mode.verdict == ENTERS for operator in self.operators for mode in operator.modes
        )

    def explain(self) -> str:
        """Describe every operator that does not hold, one line each with the stage and its reason."""
        lines = [
            f"{op.name} [{op.style}, case {op.case}] {mode.mode}: {mode.verdict}, {mode.reason}"
            for op in self.operators
            for mode in op.modes
            if mode.verdict not in HOLDS
        ]
        if not self.operators:
            return self.scope.nothing or "no operator was proved: the files hold none that was asked for"
        return "\n".join(lines) or f"all {len(self.operators)} {'are proved' if self.stages else 'enter'}"

    def to_json(self) -> dict[str, Any]:
        """Give the report as JSON values."""
        return {
            "schema_version": SCHEMA_VERSION,
            "runtime": {**vars(self.runtime), "opkit": __version__},
            "stages": list(self.stages),
            "scope": self.scope.to_json(),
            "gate": None if self.gate is None else [_finding_json(found) for found in self.gate],
            "operators": [_operator_json(operator) for operator in self.operators],
        }

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> Proof:
        """Read the form `to_json` wrote. Raises KeyError, TypeError or ValueError for another form."""
        if value["schema_version"] != SCHEMA_VERSION:
            raise ValueError(f"schema_version is {value['schema_version']}, not {SCHEMA_VERSION}")
        runtime = {name: value["runtime"][name] for name in ("kind", "torch", "torch_npu", "soc")}
        stages = tuple(value["stages"])
        operators = tuple(_operator_from_json(operator, stages) for operator in value["operators"])
        gate = value["gate"]
        found = None if gate is None else tuple(_finding_from_json(item) for item in gate)
        return Proof(Runtime(**runtime), operators, stages, Scope.from_json(value["scope"]), found)


def _finding_json(found: Diagnostic) -> dict[str, Any]:
    return {
        "code": found.code,
        "severity": found.severity.value,
        "message": found.message,
        "help": found.help,
        "operator": found.operator,
        "place": None if found.mark is None else _place_json(found.mark),
    }


def _place_json(mark: Mark) -> dict[str, Any]:
    return {"file": mark.file, "line": mark.line, "column": mark.column, "length": mark.length}


def _finding_from_json(value: Mapping[str, Any]) -> Diagnostic:
    mark = None if value["place"] is None else Mark(**value["place"])
    severity = Severity(value["severity"])
    return Diagnostic(value["code"], severity, value["message"], mark, value["help"], value["operator"])


def _operator_from_json(value: Mapping[str, Any], asked: tuple[str, ...]) -> OperatorResult:
    modes = tuple(
        ModeResult(
            mode,
            tuple(StageResult.from_json(stage) for stage in found["stages"]),
            tuple(found["notes"]),
            tuple(name for name in asked if name in STAGES[mode]),
            found["proved_at"],
        )
        for mode, found in value["modes"].items()
    )
    names = ("name", "style", "case", "file", "inputs", "line", "declaration", "command")
    return OperatorResult(modes=modes, **{name: value[name] for name in names})


def _operator_json(operator: OperatorResult) -> dict[str, Any]:
    return {
        "name": operator.name,
        "file": operator.file,
        "line": operator.line,
        "declaration": operator.declaration,
        "command": operator.command,
        "style": operator.style,
        "case": operator.case,
        "inputs": dict(operator.inputs),
        "modes": {
            mode.mode: {
                "verdict": mode.verdict,
                "reason": mode.reason,
                "notes": list(mode.notes),
                "proved_at": mode.proved_at,
                "stages": [stage.to_json() for stage in mode.stages],
            }
            for mode in operator.modes
        },
    }


@dataclass(frozen=True)
class Request:
    """What one worker is to prove; written to a file that the worker reads."""

    mode: str
    style: str
    namespace: str
    files: tuple[str, ...]
    # Operators and cases to prove: (file, operator, case).
    subjects: tuple[tuple[str, str, str], ...]
    package: str | None = None
    imports: tuple[str, ...] = ()
    # True for a second style that nobody asked for by name: what it cannot express, and what exists
    # without it, is judged in the first style only.
    optional_style: bool = False
    stand_in: bool | None = None
    # Only these stages and what they need; empty for the whole proof.
    stages: tuple[str, ...] = ()
    # Stages that are by request only, to be run as part of the whole proof.
    also: tuple[str, ...] = ()
    # Operators (file, operator) to register although others prove them: stage composition puts an operator
    # into one graph with others of its file, and must find the same ones wherever the work is split.
    company: tuple[tuple[str, str], ...] = ()
    # Subjects not to be put into one graph with others: in a first try that took the process down.
    alone: tuple[tuple[str, str, str], ...] = ()
    # The installed package whose operators are proved as it registered them, with opkit's rules for it.
    installed: str = ""
    # Stages that are left out of the whole proof.
    without: tuple[str, ...] = ()
    # A directory for what stage cache hands to a second process; the runner makes it for one run.
    artifacts: str = ""
    # What varied cases are drawn with.
    seed: int = 0

    def to_json(self) -> dict[str, Any]:
        """Give the request as JSON values."""
        return vars(self).copy()

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> Request:
        """Read the form `to_json` wrote."""
        return Request(
            **{
                **value,
                "files": tuple(value["files"]),
                "imports": tuple(value["imports"]),
                "stages": tuple(value["stages"]),
                "also": tuple(value["also"]),
                "without": tuple(value["without"]),
                "alone": tuple((file, name, case) for file, name, case in value["alone"]),
                "company": tuple((file, name) for file, name in value["company"]),
                "subjects": tuple((file, name, case) for file, name, case in value["subjects"]),
            }
        )
