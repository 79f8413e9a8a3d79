"""Stage host: the eager kernel does what the Meta kernel and the schema say.

Run once, outside of any graph. Shapes, dtypes and strides of the results are compared with the Meta kernel's,
and the arguments before and after with what the schema declares as written.
"""

from __future__ import annotations

from typing import Any

from opkit.prove import capture, fake
from opkit.prove.kernels import describe_kernel
from opkit.prove.protocol import StageResult, failed, proved
from opkit.prove.subject import Subject, first_line, flat_tensors, on_cpu, on_npu, place, results_of
from opkit.prove.values import Inputs
from opkit.prove.watch import has_meta

NAME = "host"


def run(subject: Subject) -> StageResult:
    """Call the operator eagerly on the NPU and compare what it did with what is declared."""
    evidence: dict[str, Any] = {"kernel": describe_kernel(subject)}
    given = on_npu(subject.inputs())
    before = on_cpu(given)
    args, kwargs = given.call()
    capture.forget()
    try:
        results = results_of(subject.operator(*args, **kwargs))
        after = on_cpu(given)
    except Exception as error:
        if subject.case.raises:
            return proved(NAME, refuses=first_line(error), **evidence)
        return failed(NAME, f"the eager kernel raises: {first_line(error)}", **evidence)
    evidence["outputs"] = fake.describe(results)
    if subject.case.raises:
        return failed(NAME, "the eager kernel accepts inputs of which the case says `raises`", **evidence)
    subject.uncomputed = capture.uncomputed()
    if subject.uncomputed:
        evidence["not computed here"] = subject.uncomputed
    wrong = (
        _aliases(results, given)
        or (has_meta(subject.name) and _differences(results, fake.call(subject.operator, given).results))
        or _writes(subject, before, after, evidence)
    )
    return failed(NAME, wrong, **evidence) if wrong else proved(NAME, **evidence)


def _writes(subject: Subject, before: Inputs, after: Inputs, evidence: dict[str, Any]) -> str:
    """Compare the arguments that changed with those that the schema declares as written."""
    mutated = {argument.name for argument in subject.spec.schema.mutated}
    pairs = zip(before.tensors(), after.tensors())
    written = [path for (path, old), (_, new) in pairs if not same_bits(old, new)]
    evidence["written"] = [place(path) for path in written]
    undeclared = [place(path) for path in written if path[0] not in mutated]
    if undeclared:
        return (
            f"the kernel writes {', '.join(undeclared)}, which the schema declares as read-only; "
            "mark it with (a!)"
        )
    unwritten = [path for path, _ in before.tensors() if path[0] in mutated and path not in written]
    if unwritten and not subject.uncomputed:
        return (
            f"the schema says that {place(unwritten[0])} is written, the kernel left it as it was; "
            "drop the (a!), or write a case in which it changes"
        )
    return ""


def _aliases(results: list[Any], given: Inputs) -> str:
    """Find a result that is the memory of an argument: a graph takes each result for a tensor of its own."""
    import torch

    for index, result in enumerate(results):
        for tensor in flat_tensors([result]):
            for path, owner in given.tensors():
                if torch._C._is_alias_of(tensor, owner):
                    return f"result {index} of the kernel is the memory of its argument {place(path)}"
    return ""


def _differences(results: list[Any], metas: list[Any]) -> str:
    if len(results) != len(metas):
        return f"the kernel gives {len(results)} results, the Meta kernel {len(metas)}"
    for index, (result, meta) in enumerate(zip(results, metas)):
        got = [_layout(tensor) for tensor in flat_tensors([result])]
        want = [_layout(tensor) for tensor in flat_tensors([meta])]
        if got != want:
            return (
                f"result {index} of the kernel is {fake.describe(result)}, "
                f"the Meta kernel says {fake.describe(meta)}"
            )
    return ""


def _layout(tensor: Any) -> tuple[Any, ...]:
    # Strides of dims of size 1 and of empty tensors mean nothing.
    significant = tuple(s for s, n in zip(tensor.stride(), tensor.shape) if n > 1) if tensor.numel() else ()
    return tuple(tensor.shape), tensor.dtype, significant


def same_bits(left: Any, right: Any) -> bool:
    """Tell whether two CPU tensors hold the same bytes: NaN equals NaN, 0.0 differs from -0.0."""
    import torch

    if left.shape != right.shape or left.dtype != right.dtype:
        return False
    as_bytes = [t.contiguous().reshape(-1).view(torch.uint8) for t in (left, right)]
    return bool(torch.equal(*as_bytes))
