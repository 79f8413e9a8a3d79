"""What torch.library.opcheck says about the same mutants, given the same cases.

It is asked on the CPU, where it is at home: the operator's reference is registered as its CPU kernel.
"""

from __future__ import annotations

from typing import Any

from opkit.cann.operators import fill_defaults, find_operator
from opkit.prove.mutants.bench import cases
from opkit.prove.subject import Declared, first_line
from opkit.prove.values import inputs, sizes
from opkit.prove.watch import is_defined

# Kernels live as long as their Library.
_KEPT: list[object] = []


def findings(item: Declared) -> str | None:
    """Give what opcheck finds first: "" if it passes every case, None if it cannot run."""
    import torch

    if item.reference is None:
        return None
    if item.problem or not is_defined(item.qualified):
        # opcheck needs an operator; that it cannot be defined shows without any check.
        return f"registration: {item.problem or 'not defined'}"
    operator = find_operator(item.qualified)
    _cpu_kernel(item, operator)
    for candidate in cases(item.spec):
        case = candidate.alternatives[0][1]
        for size in range(0 if case.raises else sizes(case)):
            args, kwargs = inputs(item.spec.schema, case, size).call()
            torch._dynamo.reset()
            try:
                problem = _first(torch.library.opcheck(operator, args, kwargs, raise_exception=False))
            except Exception as error:
                problem = first_line(error)
            if problem:
                return problem
    return ""


def _cpu_kernel(item: Declared, operator: Any) -> None:
    import torch

    reference = item.reference
    assert reference is not None

    def kernel(*args: Any, **kwargs: Any) -> Any:
        positional, keywords = fill_defaults(operator, args, kwargs)
        return reference(*positional, **keywords)

    namespace, _, name = item.qualified.partition("::")
    library = torch.library.Library(namespace, "IMPL")
    library.impl(name, kernel, "CPU")
    _KEPT.append(library)


def _first(results: dict[str, Any]) -> str:
    for test, result in results.items():
        if isinstance(result, BaseException):
            lines = [line.strip() for line in str(result).splitlines() if line.strip()]
            return f"{test}: {lines[0] if lines else type(result).__name__}"
    return ""
