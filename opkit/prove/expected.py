"""What the declared rule says about an operator's results, computed apart from the registered Meta kernel."""

from __future__ import annotations

from typing import Any

from opkit.prove.subject import Declared, flat_tensors, results_of
from opkit.prove.values import Inputs

# One entry per result: its tensors as (shape, dtype).
Results = list[list[tuple[Any, Any]]]


def outputs(declared: Declared, given: Inputs) -> Results | str:
    """Evaluate the rule for these sizes; a string says why there is none to evaluate.

    The rule is printed and run as in a generated Meta module, but without registering anything.
    """
    from opkit.emit.meta_kernel import DEVICE, Options, helper_functions, imports, prepare

    spec, op_file = declared.spec, declared.op_file
    kernels, problems = prepare(op_file, Options(namespace=spec.schema.name.namespace or "npu"))
    kernel = next((k for k in kernels if k.spec is spec), None)
    if kernel is None:
        reasons = [d.message for d in problems if d.operator == spec.name]
        return reasons[0] if reasons else "the declaration gives no rule"
    if kernel.rule.python is not None:
        return "the rule is a Python function, which is the Meta kernel itself"
    helpers = helper_functions([kernel])
    shape = "\nShape = Sequence[Any]\n" if "Shape" in helpers else ""
    body = (DEVICE if "DEVICE" in kernel.body else "") + shape + helpers + "\n\n" + kernel.define()
    module: dict[str, Any] = {}
    exec(compile(imports(body, ()) + body, f"<rule of {spec.name}>", "exec"), module)
    args, kwargs = given.map(_meta).full_call()
    results = results_of(module[kernel.function](*args, **kwargs))
    return [[(list(t.shape), t.dtype) for t in flat_tensors([value])] for value in results]


def _meta(tensor: Any) -> Any:
    import torch

    return torch.empty_strided(tuple(tensor.shape), tuple(tensor.stride()), dtype=tensor.dtype, device="meta")
