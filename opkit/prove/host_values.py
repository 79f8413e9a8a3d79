"""What a new value of a host argument costs under `dynamic=True`, compared with what the schema can give.

torch guards `int`, `float`, `bool`, `str` and their lists by value: a new value is a new FX graph. `SymInt`
and `SymInt[]` stay symbols: one FX graph serves all values, and npugraph_ex captures it once for each, but
for the lists that it updates inside a captured graph (its own table of operators, `_REPLACE_FUNC_MAP`).
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import Any

from opkit.model.schema import Argument, base_of, is_tensor_like
from opkit.prove import capture, fake
from opkit.prove.attributes import others
from opkit.prove.cases import chosen_case
from opkit.prove.subject import Subject, first_line, on_npu, run_eagerly
from opkit.prove.values import Inputs

_GUARDED = ("int", "float", "bool", "str", "Scalar", "ScalarType")


def look(subject: Subject, size: int, call: Any, recorder: capture.Recorder, evidence: dict[str, Any]) -> str:
    """Call the compiled function with other host values; return what is not as the schema says, or "".

    `call(given, what, symbolic)` calls it and judges the results; with `symbolic` compiling again raises.
    """
    import torch

    from opkit.prove.stages.npugraph_ex import guard_of, judge

    if subject.case.name != chosen_case(subject.spec):
        return ""  # One case of an operator shows it; every new value costs a compile.
    given = subject.inputs(size, seed=4)
    found: dict[str, str] = {}
    guarded: dict[str, Any] = {}
    for argument, value in _host_arguments(subject, given):
        tried = ({argument.name: other} for other in _values(argument, value))
        changed = next((c[argument.name] for c in tried if _accepted(subject, given, c)), None)
        if changed is None:
            found[argument.name] = "no other value is accepted"
        elif base_of(argument.type).name != "SymInt":
            guarded[argument.name] = changed
        else:
            recorder.take()
            try:
                problem = call(_with(given, {argument.name: changed}), f"{argument.name}={changed}", True)
            except torch._dynamo.exc.RecompileError as error:
                return (
                    f"a new value of `{argument.name}` compiles again, although the schema says "
                    f"{argument.type}: {guard_of(error)}"
                )
            if problem:
                return f"with {argument.name}={changed}: {problem}"
            found[argument.name] = f"one FX graph for all values, {_captured(recorder, subject, argument)}"
    if guarded and _accepted(subject, given, guarded):
        changed = _with(given, guarded)
        what = ", ".join(f"{n}={v}" for n, v in guarded.items())
        try:
            problem, new = call(changed, what, True), "no"
        except torch._dynamo.exc.RecompileError:
            # Its graph is captured like the first; what differs is what the kernel does.
            done = replace(run_eagerly(subject, changed), what=f"eager call with {what}")
            subject.runs.append(done)
            problem, new = judge(subject, done), "1"
        if problem:
            return f"with {what}: {problem}"
        found |= dict.fromkeys(guarded, f"guarded by value: {new} more FX graph for a new one")
    if found:
        evidence["host values"] = found
    return ""


def _host_arguments(subject: Subject, given: Inputs) -> Iterator[tuple[Argument, Any]]:
    """List the host arguments that the case gives; numbers bound to sizes vary anyway."""
    dims = dict(subject.case.dims)
    bound = {name for name, value in subject.case.inputs if isinstance(value, str) and value in dims}
    for argument in given.schema.arguments:
        value = given.values.get(argument.name)
        base = base_of(argument.type).name
        if value is None or is_tensor_like(argument.type) or argument.name in bound:
            continue
        if base in _GUARDED or (base == "SymInt" and _stays_symbol(value)):
            yield argument, value


def _stays_symbol(value: Any) -> bool:
    """Tell whether torch makes a symbol of it: 0 and 1 are always taken as they are."""
    items = value if isinstance(value, list) else [value]
    return bool(items) and all(isinstance(item, int) and item > 1 for item in items)


def _values(argument: Argument, value: Any) -> Iterator[Any]:
    for other in others(argument, value, count(1)):
        if base_of(argument.type).name != "SymInt" or _stays_symbol(other):
            yield other


def _with(given: Inputs, changes: dict[str, Any]) -> Inputs:
    return replace(given, values={**given.values, **changes})


def _accepted(subject: Subject, given: Inputs, changes: dict[str, Any]) -> bool:
    """Tell whether Meta kernel and eager kernel both take the values."""
    try:
        changed = _with(given, changes)
        fake.call(subject.operator, on_npu(changed))
        run_eagerly(subject, on_npu(changed))
    except Exception as error:
        first_line(error)  # Raises what is opkit's own mistake.
        return False
    return True


def _captured(recorder: capture.Recorder, subject: Subject, argument: Argument) -> str:
    captures = recorder.take().captures
    listed = " (npugraph_ex updates it in the captured graph)" if _is_updated(subject, argument) else ""
    return f"{captures} capture{'s' * (captures != 1)} for a new one{listed}"


def _is_updated(subject: Subject, argument: Argument) -> bool:
    """Tell whether npugraph_ex's table has the argument: a new list needs no new capture."""
    table = importlib.import_module(capture.RUNTIME_MODULE)._REPLACE_FUNC_MAP
    entry = table.get(subject.operator)
    return entry is not None and argument.name in entry.updated_param_keys
