"""Calls that tell right from wrong where a case does not: other sizes, dtypes and host values, one at a time.

A case whose tensors all look alike cannot show which of them a size or a dtype is taken from.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from opkit.model.operator import Case, CaseValue, TensorSpec
from opkit.model.schema import OperatorSchema, base_of
from opkit.prove import expected, fake
from opkit.prove.subject import Subject, first_line, flat_tensors, on_npu
from opkit.prove.values import inputs

_OTHER_DTYPE = {
    "float16": "float32",
    "bfloat16": "float32",
    "float32": "float16",
    "float64": "float32",
    "int8": "int32",
    "int32": "int64",
    "int64": "int32",
    "uint8": "int32",
    "bool": "uint8",
}


def layout_problem(subject: Subject, made: fake.FakeCall) -> str:
    """Say which results of a call share memory, or have strides that the rule does not give."""
    if not _is_python(subject):
        return ""
    rule = expected.asked(subject.declared, made.given).results
    return _shared(made, rule) or ("" if rule is None else _layout(made))


def problem(subject: Subject, evidence: dict[str, Any]) -> str:
    """Compare the Meta kernel with the declared rule where the case does not look.

    Arguments that either refuses are counted, and not compared; a Meta kernel in Python must refuse what the
    rule does.
    """
    none = expected.untold(subject.declared)
    if none:
        evidence["other calls"] = f"not compared: {none}"
        return ""
    own = _is_python(subject)
    compared = 0
    passed_over: list[str] = []
    for what, case in variations(subject.spec.schema, subject.case):
        given = on_npu(inputs(subject.spec.schema, case))
        rule, refusal, required = expected.asked(subject.declared, given)
        try:
            call = fake.call(subject.operator, given)
        except Exception as error:
            # A Meta kernel may know more than the rule about what goes together.
            passed_over.append(f"{what}: the Meta kernel raises {first_line(error)}")
            continue
        if required and own:
            return f"the Meta kernel accepts {what}, which the declared rule refuses: {refusal}"
        if rule is None:
            passed_over.append(f"{what}: the rule gives nothing{f', {refusal}' if refusal else ''}")
            continue
        wrong = expected.difference(subject.declared, call.results, rule)
        if wrong:
            return f"for {what}: {wrong}"
        compared += 1
    if passed_over:
        evidence["other calls not compared"] = passed_over
    if compared:
        evidence["other calls"] = f"{compared} with other sizes, dtypes and host values equal the rule"
    return ""


def _is_python(subject: Subject) -> bool:
    return subject.setting.watch.meta_function(subject.name) is not None


def _shared(made: fake.FakeCall, rule: Any) -> str:
    """Find two results that are the same memory, although the rule does not make one of the other."""
    import torch

    tensors = [(i, t) for i, r in enumerate(made.results) for t in flat_tensors([r])]
    for position, (first, one) in enumerate(tensors):
        for second, two in tensors[position + 1 :]:
            declared = rule is not None and first != second and rule[first] is rule[second]
            if torch._C._is_alias_of(one, two) and not declared:
                return f"results {first} and {second} of the Meta kernel share their memory; allocate each"
    return ""


def _layout(made: fake.FakeCall) -> str:
    """Find a result that is not contiguous: what a rule describes is a new tensor, and those are."""
    for index, result in enumerate(made.results):
        for tensor in flat_tensors([result]):
            if not tensor.is_contiguous():
                what = fake.describe(tensor)
                return f"result {index} of the Meta kernel is {what}: new tensors are contiguous"
    return ""


def variations(schema: OperatorSchema, case: Case) -> Iterator[tuple[str, Case]]:
    """List (what is varied, a case without named dims and dtypes) for each argument alone."""
    plain = _plain(case)
    given = dict(plain.inputs)
    for name, value in plain.inputs:
        argument = schema.argument(name)
        if argument is None:
            continue
        for what, changed in _changes(value, base_of(argument.type).name):
            values = {**given, name: changed}
            yield f"{name} with {what}", replace(plain, inputs=tuple(values.items()))
    distinct = {name: _resized(value, index + 1) for index, (name, value) in enumerate(plain.inputs)}
    yield "every tensor with sizes of its own", replace(plain, inputs=tuple(distinct.items()))


def _plain(case: Case) -> Case:
    """Put the first size for every named dim, and the first dtype for every named one."""
    sizes = {name: values[0] for name, values in case.dims}
    dtypes = {name: values[0] for name, values in case.dtypes}

    def plain(value: CaseValue) -> CaseValue:
        if isinstance(value, tuple):
            return tuple(map(plain, value))
        if isinstance(value, TensorSpec):
            dims = tuple(sizes.get(dim, dim) if isinstance(dim, str) else dim for dim in value.dims)
            return replace(value, dims=dims, dtype=dtypes.get(value.dtype, value.dtype))
        return sizes.get(value, value) if isinstance(value, str) else value

    inputs = tuple((name, plain(value)) for name, value in case.inputs)
    return replace(case, inputs=inputs, dims=(), dtypes=())


def _changes(value: CaseValue, base: str) -> Iterator[tuple[str, CaseValue]]:
    if isinstance(value, TensorSpec) and not value.values:
        for index, dim in enumerate(value.dims):
            if isinstance(dim, int):
                dims = (*value.dims[:index], dim + 1, *value.dims[index + 1 :])
                yield f"a larger dim {index}", replace(value, dims=dims)
        if value.dtype in _OTHER_DTYPE:
            yield "another dtype", replace(value, dtype=_OTHER_DTYPE[value.dtype])
    elif isinstance(value, tuple) and any(isinstance(item, TensorSpec) for item in value):
        yield "other sizes", _resized(value, 1)
    elif isinstance(value, bool):
        yield "the opposite", not value
    elif isinstance(value, int) and base in ("int", "SymInt"):
        yield "a larger number", value + 1


def _resized(value: CaseValue, by: int) -> CaseValue:
    """Make every dim of a tensor larger."""
    if isinstance(value, tuple):
        return tuple(_resized(item, by) for item in value)
    if isinstance(value, TensorSpec) and not value.values:
        return replace(value, dims=tuple(d + by if isinstance(d, int) else d for d in value.dims))
    return value
