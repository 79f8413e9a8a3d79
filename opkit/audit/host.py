"""Compares a rule with the compiled host code, call by call.

The host code is called eagerly on NPU tensors, the rule on fake tensors of the same sizes. Compared are
shapes, dtypes, strides and device type of every result, which results are an argument or share its memory,
which are None, which arguments changed their shape, and whether the call is refused, but not in which words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from opkit.audit.protocol import AGREES, BOTH_RAISE, DIFFERS, HOST_RAISES, RULE_RAISES, UNUSABLE, Comparison
from opkit.audit.variations import Variation
from opkit.errors import OpkitError
from opkit.model.operator import Case, OpSpec, TensorSpec
from opkit.prove.subject import first_line, on_npu, place, results_of
from opkit.prove.values import Inputs, inputs

Function = Callable[..., Any]
# Its number in CANN's `aclFormat`.
_FRACTAL_NZ = 29


def compare(
    variation: Variation, spec: OpSpec, operator: Function, rule: Function, primary: bool
) -> Comparison:
    """Make one call of both."""
    try:
        given = inputs(spec.schema, variation.case, variation.size)
    except OpkitError as error:
        return Comparison(variation.name, UNUSABLE, "", str(error))
    if variation.strided:
        given = given.map(_transposed_in_memory)
    host, host_raised = _outcome(operator, _placed(given, variation.case), full=False)
    said, rule_raised = _fake_outcome(rule, _placed(given, variation.case))
    # What the case says about refusal holds for the call as written, on the SoC it was written for.
    as_written = primary and variation.name == variation.case.name
    if host_raised and rule_raised:
        verdict = HOST_RAISES if as_written and not variation.case.raises else BOTH_RAISE
    elif host_raised or rule_raised:
        verdict = HOST_RAISES if host_raised else RULE_RAISES
    else:
        verdict = AGREES if host == said and not (as_written and variation.case.raises) else DIFFERS
    return Comparison(variation.name, verdict, host, said)


def _placed(given: Inputs, case: Case) -> Inputs:
    """Copy arguments to where the case has them.

    What it has in FRACTAL_NZ is empty: torch_npu 2.13 copies nothing into that format on Ascend950.
    """
    placed = on_npu(given)
    for name, value in case.inputs:
        if isinstance(value, TensorSpec) and value.nz:
            from torch_npu import empty_with_format

            like = placed.values[name]
            made = empty_with_format(like.shape, dtype=like.dtype, device=like.device, acl_format=_FRACTAL_NZ)
            placed.values[name] = made
    return placed


def _transposed_in_memory(tensor: Any) -> Any:
    """The same tensor with its last two dims the other way round in memory."""
    return tensor.transpose(-1, -2).contiguous().transpose(-1, -2) if tensor.dim() > 1 else tensor


def _fake_outcome(rule: Function, given: Inputs) -> tuple[str, bool]:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode() as mode:
        return _outcome(rule, given.map(mode.from_tensor), full=True)


def _outcome(function: Function, given: Inputs, full: bool) -> tuple[str, bool]:
    """Call it; give what came of it as text, and whether that was an exception."""
    args, kwargs = given.full_call() if full else given.call()
    before = [(place(path), tensor, tuple(tensor.shape)) for path, tensor in given.tensors()]
    try:
        results = results_of(function(*args, **kwargs))
    except Exception as error:
        return first_line(error), True
    owners = [(name, tensor) for name, tensor, _ in before]
    parts = list(_described(results, owners))
    parts += [
        f"{name} becomes {list(tensor.shape)}"
        for name, tensor, shape in before
        if tuple(tensor.shape) != shape
    ]
    return "; ".join(parts) or "nothing", False


def _described(results: list[Any], owners: list[tuple[str, Any]]) -> Iterator[str]:
    """Describe every result; one that is an argument or an earlier result by that name."""
    import torch

    for number, result in enumerate(results):
        if isinstance(result, (list, tuple)):
            yield f"[{'; '.join(_described(list(result), owners))}]"
        elif isinstance(result, torch.Tensor):
            yield _tensor(result, owners)
            owners.append((f"result {number}", result))
        else:
            # A value read from the device means nothing here, its type does.
            yield "None" if result is None else type(result).__name__


def _tensor(tensor: Any, owners: list[tuple[str, Any]]) -> str:
    import torch

    for name, owner in owners:
        if tensor is owner:
            return f"{name} itself"
    dtype = str(tensor.dtype).removeprefix("torch.")
    text = f"{dtype}{list(tensor.shape)}"
    if not tensor.is_contiguous():
        # The stride of a dim of size 1 means nothing.
        strides = [stride if size > 1 else "*" for stride, size in zip(tensor.stride(), tensor.shape)]
        text += f" strides [{', '.join(map(str, strides))}]"
    if tensor.device.type != "npu":
        text += f" on {tensor.device.type}"
    shared = [name for name, owner in owners if torch._C._is_alias_of(tensor, owner)]
    return text + (f" in the memory of {shared[0]}" if shared else "")
