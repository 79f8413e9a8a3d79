"""Adds to a failed stage the script that shows it again, and writes those scripts to files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from opkit.emit.reproduction import Failure, emit
from opkit.errors import OpkitError
from opkit.model.operator import Case, CaseValue, TensorSpec
from opkit.prove.protocol import FAILED, Proof, StageResult
from opkit.prove.subject import Subject

# The key of the evidence that holds the script.
SCRIPT = "script"
# Stages whose finding a script of a few lines shows again.
_SHOWN = ("host", "variations", "dynamo", "npugraph_ex", "ge", "values")


def with_script(result: StageResult, subject: Subject) -> StageResult:
    """Add the script to a failure, where one can be written."""
    if result.verdict != FAILED or result.name not in _SHOWN or subject.declared.style == "package":
        return result
    failure = Failure(
        subject.declared.op_file,
        subject.spec,
        _plain(subject.failing or subject.case),
        subject.setting.mode,
        result.name,
        result.reason,
        subject.name.split("::")[0],
        subject.setting.imports,
    )
    try:
        script = emit(failure)
    except (OpkitError, LookupError):
        # A dim without a size is one of the user's mistakes. The report has the command that proves it again.
        return result
    return replace(result, evidence={**result.evidence, SCRIPT: script})


def _plain(case: Case) -> Case:
    """Put the first dtype for every named one."""
    dtypes = {name: names[0] for name, names in case.dtypes}

    def plain(value: CaseValue) -> CaseValue:
        if isinstance(value, tuple):
            return tuple(map(plain, value))
        if isinstance(value, TensorSpec):
            return replace(value, dtype=dtypes.get(value.dtype, value.dtype))
        return value

    return replace(case, inputs=tuple((name, plain(value)) for name, value in case.inputs), dtypes=())


def scripts(proof: Proof) -> Iterator[tuple[str, str]]:
    """List (file name, text) of every script in a report."""
    for operator in proof.operators:
        for mode in operator.modes:
            for stage in mode.stages:
                if SCRIPT in stage.evidence:
                    words = (operator.name, operator.style, operator.case, mode.mode, stage.name)
                    name = "_".join(re.sub(r"\W+", "_", word) for word in words)
                    yield f"{name}.py", str(stage.evidence[SCRIPT])


def write_scripts(proof: Proof, directory: Path) -> list[Path]:
    """Write every script of a report. Raises OpkitError when the directory cannot be written."""
    from opkit.files import write_report

    paths = []
    for name, text in scripts(proof):
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OpkitError(
                f"{directory} cannot be made: {error.strerror}", "give another directory"
            ) from error
        write_report(directory / name, text)
        paths.append(directory / name)
    return paths
