"""Stage values: what the graph computed equals the reference function on the CPU, for every call that ran.

Only where the YAML names a reference; the first call, the replay with new values and every set of sizes are
compared, results and written arguments alike.
"""

from __future__ import annotations

from typing import Any

from opkit.prove.protocol import StageResult, failed, proved
from opkit.prove.subject import Run, Subject, first_line, flat_tensors, place, results_of
from opkit.prove.values import Inputs

NAME = "values"


def run(subject: Subject) -> StageResult:
    """Compare each run of the compiled function with the reference."""
    assert subject.declared.reference is not None
    for done in subject.runs:
        try:
            problem = _compare(subject, done)
        except Exception as error:
            return failed(NAME, f"the reference function raises: {first_line(error)}")
        if problem:
            return failed(NAME, f"{done.what}: {problem}")
    return proved(NAME, compared=[done.what for done in subject.runs], reference=str(subject.spec.reference))


def _compare(subject: Subject, done: Run) -> str:
    wanted_inputs = done.before.map(lambda tensor: tensor.clone())
    results = _reference(subject, wanted_inputs)
    if len(results) != len(done.results):
        return f"the graph gives {len(done.results)} results, the reference {len(results)}"
    for index, (got, want) in enumerate(zip(done.results, results)):
        problem = _close(f"result {index}", flat_tensors([got]), flat_tensors([want]))
        if problem:
            return problem
    for (path, got), (_, want) in zip(done.after.tensors(), wanted_inputs.tensors()):
        problem = _close(f"argument {place(path)} after the call", [got], [want])
        if problem:
            return problem
    return ""


def _reference(subject: Subject, given: Inputs) -> list[Any]:
    """Run the reference, or the case's function with the reference in the operator's place."""
    assert subject.declared.reference is not None
    if subject.call is None:
        args, kwargs = given.full_call()
        return results_of(subject.declared.reference(*args, **kwargs))
    from torch.utils._python_dispatch import TorchDispatchMode

    reference, operator = subject.declared.reference, subject.operator

    class OnCpu(TorchDispatchMode):  # type: ignore[misc, unused-ignore]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return (reference if func is operator else func)(*args, **(kwargs or {}))

    with OnCpu():
        return results_of(subject.call(**given.values))


def _close(what: str, got: list[Any], want: list[Any]) -> str:
    import torch

    if len(got) != len(want):
        return f"{what} has {len(got)} tensors, the reference gives {len(want)}"
    for mine, theirs in zip(got, want):
        try:
            # The graph runs the same CPU kernels or GE's interpreter, so only rounding may differ.
            torch.testing.assert_close(mine, theirs, equal_nan=True)
        except AssertionError as error:
            lines = [line for line in str(error).splitlines() if line.strip()]
            return f"{what} differs from the reference: {' '.join(lines[:3])}"
    return ""
