"""Puts the reports of several machines together, as if one had proved everything. Imports no torch."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from opkit.errors import OpkitError
from opkit.prove.protocol import MODES, ModeResult, OperatorResult, Proof, Scope

_PROVE_AGAIN = "prove them with the same files and versions, and merge those reports"
# An operator with a case in a style: what a result is about.
_Key = tuple[str, str, str, str]


@dataclass(frozen=True)
class Report:
    """A report and the file it was read from."""

    path: str
    proof: Proof
    # The version of opkit that wrote it.
    opkit: str


def read_report(path: str) -> Report:
    """Read what `opkit prove --format json` wrote.

    Raises OpkitError for a file that is not there or is no such report, and for one of a run that failed.
    """
    help = "give a file that `opkit prove --format json --output-file` wrote"
    try:
        value = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise OpkitError(f"cannot read {path}: {error.strerror}", help) from None
    except ValueError as error:
        raise OpkitError(f"{path} is no JSON: {error}", help) from None
    if isinstance(value, dict) and "error" in value:
        message = value["error"].get("message") if isinstance(value["error"], dict) else value["error"]
        raise OpkitError(f"{path} says that nothing was proved: {message}", "mend that, and prove again")
    try:
        return Report(path, _elsewhere(Proof.from_json(value)), value["runtime"]["opkit"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise OpkitError(f"{path} is no report of this version of opkit: {what}", help) from None


def _elsewhere(proof: Proof) -> Proof:
    """Name files relative to where the command ran: the checkouts of two machines have different places."""
    scope = proof.scope

    def relative(file: str) -> str:
        return os.path.relpath(file, scope.directory or os.getcwd())

    return replace(
        proof,
        operators=tuple(replace(operator, file=relative(operator.file)) for operator in proof.operators),
        scope=replace(
            scope,
            declarations={relative(file): digest for file, digest in scope.declarations.items()},
            subjects=tuple((relative(file), name, case) for file, name, case in scope.subjects),
        ),
    )


def merge(reports: Sequence[Report]) -> Proof:
    """Give the report that one run would have given.

    Raises OpkitError for reports that do not belong together, for shards that are missing, and for two
    results of one operator that are not the same.
    """
    # A run without an operator loads no runtime that others could be compared with.
    first = next((report for report in reports if report.proof.runtime.kind != "none"), reports[0])
    for other in reports:
        _belong_together(first, other)
    _complete(reports)
    order = _order(reports)
    found: dict[_Key, OperatorResult] = {}
    for report in reports:
        for operator in report.proof.operators:
            key = (operator.file, operator.name, operator.case, operator.style)
            found[key] = _joined(found[key], operator, report) if key in found else operator
    # As one run has them: by file and case, the library style first.
    keys = sorted(found, key=lambda key: (order[key[:3]], key[3] != "library"))
    directory = first.proof.scope.directory
    return replace(
        first.proof,
        operators=tuple(_placed(found[key], directory) for key in keys),
        scope=_scope(reports, directory),
    )


def _scope(reports: Sequence[Report], directory: str) -> Scope:
    scopes = [report.proof.scope for report in reports]
    declarations = {file: digest for scope in scopes for file, digest in scope.declarations.items()}
    return Scope(
        directory=directory,
        declarations={_absolute(file, directory): digest for file, digest in declarations.items()},
        changed_since=scopes[0].changed_since,
        installed=scopes[0].installed,
        without=scopes[0].without,
        not_proved=scopes[0].not_proved,
        nothing="" if any(report.proof.operators for report in reports) else scopes[0].nothing,
    )


def _absolute(file: str, directory: str) -> str:
    return os.path.normpath(os.path.join(directory, file))


def _placed(operator: OperatorResult, directory: str) -> OperatorResult:
    return replace(operator, file=_absolute(operator.file, directory))


def _belong_together(first: Report, other: Report) -> None:
    """Refuse a report of other versions, of another kind, or of files that hold something else."""

    def differ(what: str, one: object, two: object) -> OpkitError:
        return OpkitError(f"{what} differs: {one} in {first.path}, {two} in {other.path}", _PROVE_AGAIN)

    one, two = first.proof, other.proof
    if first.opkit != other.opkit:
        raise differ("the version of opkit", first.opkit, other.opkit)
    for name, value in vars(one.runtime).items():
        if value != getattr(two.runtime, name) and two.runtime.kind != "none":
            raise differ(f"the runtime's {name}", value, getattr(two.runtime, name))
    if one.stages != two.stages:
        raise differ("the stages asked for", one.stages or "all", two.stages or "all")
    if one.scope.without != two.scope.without:
        raise differ("what was left out", one.scope.without or "nothing", two.scope.without or "nothing")
    if one.scope.changed_since != two.scope.changed_since:
        raise differ("--changed-since", one.scope.changed_since or "-", two.scope.changed_since or "-")
    for file, digest in one.scope.declarations.items():
        if two.scope.declarations.get(file, digest) != digest:
            raise OpkitError(f"{file} is not the same in {first.path} and {other.path}", _PROVE_AGAIN)


def _complete(reports: Sequence[Report]) -> None:
    """Refuse shards of different divisions, and divisions of which one is missing."""
    shards = [report for report in reports if report.proof.scope.shard is not None]
    if not shards:
        return
    first = shards[0]
    count = first.proof.scope.shard[1]  # type: ignore[index]
    for other in shards[1:]:
        if other.proof.scope.shard[1] != count:  # type: ignore[index]
            text = f"{first.path} is one of {count} shards, {other.path} one of another number"
            raise OpkitError(text, _PROVE_AGAIN)
        if other.proof.scope.subjects != first.proof.scope.subjects:
            text = f"{first.path} and {other.path} are shards of different sets of operators"
            raise OpkitError(text, _PROVE_AGAIN)
    there = {report.proof.scope.shard[0] for report in shards}  # type: ignore[index]
    missing = [f"{index}/{count}" for index in range(1, count + 1) if index not in there]
    if missing:
        several = len(missing) > 1
        text = f"shard{'s' * several} {', '.join(missing)} {'are' if several else 'is'} missing"
        raise OpkitError(text, "give the reports of all shards")


def _order(reports: Sequence[Report]) -> dict[tuple[str, str, str], int]:
    """Number operators and cases as in one run: shards know all of them."""
    known = [
        subject
        for report in reports
        for subject in (
            *report.proof.scope.subjects,
            *((o.file, o.name, o.case) for o in report.proof.operators),
        )
    ]
    return {subject: index for index, subject in enumerate(dict.fromkeys(known))}


def _joined(one: OperatorResult, two: OperatorResult, report: Report) -> OperatorResult:
    """Add the modes of a second report. Raises OpkitError where both have one and do not say the same."""
    modes = {mode.mode: mode for mode in one.modes}
    for mode in two.modes:
        if _said(modes.setdefault(mode.mode, mode)) != _said(mode):
            text = f"{one.name} [{one.style}, case {one.case}] {mode.mode}: {report.path} says {mode.verdict}"
            raise OpkitError(
                f"{text} ({mode.reason}), another report {modes[mode.mode].verdict}"
                if mode.verdict != modes[mode.mode].verdict
                else f"{text} for another reason than another report",
                "two results of one operator must be the same; leave one of the reports out",
            )
    return replace(one, modes=tuple(modes[name] for name in MODES if name in modes))


def _said(mode: ModeResult) -> object:
    return [(stage.name, stage.verdict, stage.reason) for stage in mode.stages]
