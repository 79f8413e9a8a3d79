"""Stage values: what the graph computed equals the reference function on the CPU, for every call that ran.

Where the YAML names no reference, an eager call of the operator's own kernel is compared with. The first
call, the replay with new values and every set of sizes are compared, results and written arguments alike.
"""

from __future__ import annotations

from typing import Any

from opkit.prove.compare import close
from opkit.prove.protocol import StageResult, failed, proved
from opkit.prove.subject import Run, Subject, first_line, flat_tensors, place, results_of, run_eagerly
from opkit.prove.values import Inputs

NAME = "values"
_EAGER = "an eager call of the operator's own kernel"


def run(subject: Subject) -> StageResult:
    """Compare each run of the compiled function with the reference."""
    for done in subject.runs:
        try:
            problem = _compare(subject, done)
        except Exception as error:
            who = "the reference function" if subject.declared.reference is not None else _EAGER
            return failed(NAME, f"{who} raises: {first_line(error)}")
        if problem:
            return failed(NAME, f"{done.what}: {problem}")
    compared = [done.what for done in subject.runs]
    reference = _EAGER if subject.declared.reference is None else str(subject.spec.reference)
    return proved(NAME, compared=compared, reference=reference)


def _compare(subject: Subject, done: Run) -> str:
    whose = "the reference" if subject.declared.reference is not None else "the eager call"
    results, after = _wanted(subject, done)
    if len(results) != len(done.results):
        return f"the graph gives {len(done.results)} results, {whose} {len(results)}"
    for index, (got, want) in enumerate(zip(done.results, results)):
        problem = close(f"result {index}", flat_tensors([got]), flat_tensors([want]), whose)
        if problem:
            return problem
    for (path, got), (_, want) in zip(done.after.tensors(), after.tensors()):
        problem = close(f"argument {place(path)} after the call", [got], [want], whose)
        if problem:
            return problem
    return ""


def _wanted(subject: Subject, done: Run) -> tuple[list[Any], Inputs]:
    """Give the results, and the arguments after the call, that a run should have had."""
    if subject.declared.reference is None:
        eager = run_eagerly(subject, done.before)
        return eager.results, eager.after
    given = done.before.map(lambda tensor: tensor.clone())
    return _reference(subject, given), given


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
