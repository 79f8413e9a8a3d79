"""What torch does with an input that needs a gradient: it is reported as it is, and decides nothing.

An operator for inference has no autograd formula. In the library style torch then gives results that need no
gradient, in the custom_op style results whose backward raises; under `torch.no_grad` both are the same.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from opkit.prove.cases import chosen_case
from opkit.prove.subject import Subject, first_line, flat_tensors, on_npu, results_of


def seen(subject: Subject, backend: Any) -> dict[str, str]:
    """Call eagerly and compiled with gradients on; say what came of each. Empty without such an input."""
    import torch

    written = {argument.name for argument in subject.spec.schema.mutated}
    given = on_npu(subject.inputs(seed=8))
    able = [p for p, t in given.tensors() if t.is_floating_point() and p[0] not in written and p[1] is None]
    if not able or subject.case.name != chosen_case(subject.spec):
        return {}
    name = able[0][0]
    torch._dynamo.reset()
    compiled = torch.compile(subject.model(), backend=backend, fullgraph=True, dynamic=False)
    found = {"input": name}
    for what, function in (("eager", subject.model()), ("compiled", compiled)):
        fresh = given.map(lambda tensor: tensor.clone())
        leaf = fresh.values[name].detach().requires_grad_()
        args, kwargs = subject.arguments(replace(fresh, values={**fresh.values, name: leaf}))
        found[what] = _outcome(function, args, kwargs, leaf)
    torch._dynamo.reset()
    return found


def _outcome(function: Any, args: Any, kwargs: Any, leaf: Any) -> str:
    """Say whether a gradient comes back to the leaf."""
    try:
        results = [
            tensor for tensor in flat_tensors(results_of(function(*args, **kwargs))) if tensor.requires_grad
        ]
    except Exception as error:
        return f"the call raises {first_line(error)}"
    if not results:
        return "the results need no gradient"
    try:
        results[0].float().sum().backward()
    except Exception as error:
        return f"backward raises {first_line(error)}"
    return "a gradient comes back" if leaf.grad is not None else "no gradient comes back"
