"""What a user asks the prover for, and how that is split over worker processes. Imports no torch."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

from opkit.errors import OpkitError
from opkit.model.diagnostic import Diagnostic, has_errors
from opkit.model.operator import OpFile, OpSpec
from opkit.prove.cases import Candidate, NoCase, candidates
from opkit.prove.protocol import MODES, ON_REQUEST, Request
from opkit.prove.selection import SHARED, known_stages, modes_to_run, stages_to_run
from opkit.prove.split import Shard, Subject, of_shard

STYLES = ("library", "custom-op")
# Stages that would make the proof of a whole installed package take much longer: part of it when asked for.
SLOW = ("composition", "variations")


class InvalidDeclaration(OpkitError):
    """The YAML has mistakes; `diagnostics` holds them all."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        super().__init__("the operator YAML has mistakes", "mend them; `opkit check` shows them as well")
        self.diagnostics = diagnostics


class UnreadableFile(InvalidDeclaration):
    """A file could not be opened at all."""


@dataclass(frozen=True)
class Plan:
    """Everything `opkit prove` was asked for."""

    files: tuple[str, ...]
    # Names as `base`, `base.overload` or `ns::base.overload`; empty means every operator.
    operators: tuple[str, ...] = ()
    modes: tuple[str, ...] = MODES
    # Only these stages and what they cannot do without; empty for the whole proof.
    stages: tuple[str, ...] = ()
    # Stages that are by request only, to be run as part of the whole proof.
    also: tuple[str, ...] = ()
    # None: both where opkit generates, none where the operators come from a package.
    styles: tuple[str, ...] | None = None
    namespace: str = "npu"
    package: str | None = None
    imports: tuple[str, ...] = ()
    # What varied cases are drawn with: the same seed gives the same cases.
    seed: int = 0
    # Seconds without any news from a worker after which it counts as hung.
    timeout: float = 120.0
    # Worker processes at a time; None is one for each core.
    jobs: int | None = None
    # Bytes that one worker may use; None is its share of the machine's.
    memory: int | None = None
    # Only operators that are not what they were at this git revision.
    changed_since: str = ""
    # Results of earlier proofs may be taken where nothing that decides them has changed.
    result_cache: bool = False
    # Only this part of the operators.
    shard: Shard | None = None
    # True asks for the stand-in even where CANN is present; None takes what the machine has.
    stand_in: bool | None = None


def read(path: str) -> OpFile:
    """Read one YAML file. Raises InvalidDeclaration for errors in it, UnreadableFile when it is not there."""
    from opkit.read import read_file

    op_file, diagnostics = read_file(path)
    if not Path(path).is_file():
        raise UnreadableFile(diagnostics)
    if op_file is None or has_errors(diagnostics) or (diagnostics and not op_file.operators):
        order = sorted(diagnostics, key=lambda d: (d.mark.line, d.mark.column) if d.mark else (0, 0))
        raise InvalidDeclaration(tuple(order))
    return op_file


@dataclass(frozen=True)
class Work:
    """A plan as requests for workers, one per mode and style, and what part of it that is."""

    requests: tuple[Request, ...]
    # Every operator and case of the plan, in order, those of other shards included.
    subjects: tuple[Subject, ...]
    files: tuple[OpFile, ...]
    # Why there is nothing to prove; empty when there is something.
    nothing: str = ""


def requests(plan: Plan) -> list[Request]:
    """Give the requests of a plan. Raises what `work` raises."""
    return list(work(plan).requests)


def work(plan: Plan) -> Work:
    """Read the files and split what is asked for into one request per mode and style.

    Raises InvalidDeclaration for mistakes in the YAML and OpkitError for an unknown operator or a bad
    package.
    """
    _check(plan)
    paths = _paths(plan)
    files = _ruled_once(
        [read(path) for path in {os.path.realpath(path): path for path in paths}.values()], plan
    )
    subjects = tuple(
        (os.path.abspath(op_file.path), spec.name, case.name)
        for op_file in files
        for spec in _selected(plan, op_file)
        for case in candidates(spec)
        if _applies(plan, case)
    )
    _all_found(plan, files)
    _once(plan, files)
    if not subjects:
        raise OpkitError(
            f"no case for stage {', '.join(plan.stages)}: the operators refuse all of them (`raises`)",
            "ask for schema, meta or host",
        )
    everything = subjects
    if plan.changed_since:
        subjects = _changed(plan, files, subjects)
        if not subjects:
            return Work((), (), tuple(files), f"no operator has changed since {plan.changed_since}")
    mine = of_shard(subjects, plan.shard)
    if not mine:
        return Work((), subjects, tuple(files), f"shard {plan.shard} holds none of the operators")
    return Work(tuple(_requests(plan, files, mine, everything)), subjects, tuple(files))


def installed(plan: Plan) -> str:
    """Give the installed package that the plan names in place of files; empty when it names files."""
    from opkit.shipped import shipped_packages

    names = [name for name in plan.files if name in shipped_packages() and not Path(name).exists()]
    if names and len(plan.files) > 1:
        raise OpkitError(f"{names[0]} is proved on its own", "name either files or one installed package")
    return names[0] if names else ""


def left_out(plan: Plan) -> tuple[str, ...]:
    """List the stages that the proof of a whole installed package leaves out, unless they are asked for."""
    return tuple(name for name in SLOW if name not in plan.also) if installed(plan) else ()


def _paths(plan: Plan) -> tuple[str, ...]:
    from opkit.shipped import case_files, rule_files

    package = installed(plan)
    if not package:
        return plan.files
    if plan.styles or plan.package or plan.imports:
        raise OpkitError(
            f"{package} is proved as it is installed", "leave out --style, --package and --import"
        )
    return tuple(map(str, (*rule_files(package), *case_files(package))))


def _ruled_once(files: list[OpFile], plan: Plan) -> list[OpFile]:
    """Leave out of a package's case files what a rule file has by now: that has cases, too."""
    if not installed(plan):
        return files
    found: dict[str, str] = {}
    for op_file in files:
        for spec in op_file.operators:
            found.setdefault(spec.schema.name.qualified, op_file.path)
    return [
        replace(f, operators=tuple(s for s in f.operators if found[s.schema.name.qualified] == f.path))
        for f in files
    ]


def _changed(plan: Plan, files: list[OpFile], subjects: tuple[Subject, ...]) -> tuple[Subject, ...]:
    from opkit.prove.changes import changed

    named = [*plan.imports, *([plan.package] if plan.package else [])]
    found = changed(files, plan.changed_since, map(_absolute, named))
    return tuple(subject for subject in subjects if subject[:2] in found)


def _requests(
    plan: Plan, files: list[OpFile], subjects: tuple[Subject, ...], everything: tuple[Subject, ...]
) -> list[Request]:
    styles = _styles(plan)
    company = tuple(dict.fromkeys((file, name) for file, name, _ in everything))
    without = left_out(plan)
    return [
        Request(
            mode=mode,
            style=style,
            namespace=plan.namespace,
            files=tuple(os.path.abspath(op_file.path) for op_file in files),
            subjects=subjects,
            package=None if plan.package is None else os.path.abspath(plan.package),
            imports=tuple(_absolute(name) for name in plan.imports),
            optional_style=plan.styles is None and style != styles[0],
            stand_in=plan.stand_in,
            stages=plan.stages,
            also=plan.also,
            company=company if "composition" in stages_to_run(mode, plan.stages, plan.also, without) else (),
            installed=installed(plan),
            without=without,
            seed=plan.seed,
        )
        for mode in modes_to_run(plan.modes, plan.stages)
        for style in styles
    ]


def _applies(plan: Plan, case: Candidate | NoCase) -> bool:
    """Tell whether the case has any of the stages asked for: what an operator refuses has no graph."""
    refused = isinstance(case, Candidate) and any(made.raises for _, made in case.alternatives)
    return not (refused and plan.stages) or any(name in SHARED for name in plan.stages)


def _absolute(name: str) -> str:
    """Make a file or directory to import independent of where the worker runs; a module stays a name."""
    return os.path.abspath(name) if name.endswith(".py") or os.path.isdir(name) else name


def _styles(plan: Plan) -> tuple[str, ...]:
    if installed(plan):
        return ("installed",)
    if plan.package:
        return ("package",)
    # Beside the user's own module one style is enough: it is what the module lacks that is generated.
    return plan.styles or (STYLES[:1] if plan.imports else STYLES)


def _check(plan: Plan) -> None:
    for mode in plan.modes:
        if mode not in MODES:
            raise OpkitError(f"unknown mode {mode!r}", f"the modes are {', '.join(MODES)}")
    for style in plan.styles or ():
        if style not in STYLES:
            raise OpkitError(f"unknown style {style!r}", f"the styles are {', '.join(STYLES)}")
    for name in plan.also:
        if name not in ON_REQUEST and not (name in SLOW and installed(plan)):
            part = "is part of every proof" if name in known_stages() else "is none"
            raise OpkitError(f"--also {name}: {part}", f"there is {', '.join(sorted(ON_REQUEST)) or 'none'}")
    for name in plan.imports:
        if name.endswith(".py") and not Path(name).is_file():
            raise OpkitError(f"--import {name}: there is no such file", "check the path")
    if plan.package and plan.styles:
        raise OpkitError(
            "--style and --package exclude each other", "a package is proved in the style it was generated in"
        )
    if plan.package and not (Path(plan.package) / "__init__.py").is_file():
        raise OpkitError(
            f"{plan.package} is not a Python package: it has no __init__.py",
            "give the directory that `opkit gen -o` wrote",
        )


def is_selected(names: tuple[str, ...], spec: OpSpec) -> bool:
    """Tell whether any of the names means this operator: `base`, `base.overload`, with or without `ns::`."""
    known = {spec.name, spec.schema.name.base, spec.schema.name.qualified}
    return not names or any(name in known or name.split("::")[-1] in known for name in names)


def _selected(plan: Plan, op_file: OpFile) -> list[OpSpec]:
    return [spec for spec in op_file.operators if is_selected(plan.operators, spec)]


def _all_found(plan: Plan, files: list[OpFile]) -> None:
    specs = [spec for op_file in files for spec in op_file.operators]
    missing = [name for name in plan.operators if not any(is_selected((name,), spec) for spec in specs)]
    if missing:
        known = ", ".join(sorted({spec.name for spec in specs})[:10]) or "none"
        raise OpkitError(
            f"no operator named {', '.join(missing)} in {', '.join(plan.files)}", f"it has {known}"
        )
    if not specs:
        raise OpkitError(f"no operator in {', '.join(plan.files)}", "put entries under `custom:`")


def _once(plan: Plan, files: list[OpFile]) -> None:
    """Refuse an operator of several files: only one of them could be registered."""
    homes: dict[str, str] = {}
    for op_file in files:
        for spec in _selected(plan, op_file):
            name = f"{spec.schema.name.namespace or plan.namespace}::{spec.name}"
            other = homes.setdefault(name, op_file.path)
            if other != op_file.path:
                raise OpkitError(
                    f"{name} is declared in {other} and in {op_file.path}",
                    "prove one file at a time, or leave one of the operators out with --op",
                )
