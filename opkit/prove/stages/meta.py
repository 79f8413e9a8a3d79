"""Stage meta: fake tensors can run the operator, and what they get is what the declaration says.

Everything that needs no compile is judged here: registration, signature, shapes, dtypes, device, aliasing,
and that sizes stay symbolic (which torch.library.opcheck does not see).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opkit.model.schema import Return, is_tensor_like
from opkit.prove import apart, expected, fake, signature
from opkit.prove.exhibits import source_of
from opkit.prove.protocol import PROVED, StageResult, failed, proved
from opkit.prove.subject import Subject, first_line, flat_tensors, on_npu, results_of
from opkit.prove.values import Inputs, ordinary_sizes, sizes
from opkit.prove.watch import graph_breaks, has_kernel, has_meta

NAME = "meta"
_SIZE_FROM_DATA = (
    "the output size depends on data, which neither graph can hold; give a maximum size and a count"
)


def run(subject: Subject) -> StageResult:
    """Judge the Meta kernel, with fixed and with symbolic sizes."""
    evidence: dict[str, Any] = {"registered as": _kind(subject.name)}
    problem = _registration(subject, evidence)
    if problem:
        return failed(NAME, problem)
    if not has_meta(subject.name):
        evidence["registered as"] = "none; the operator returns nothing, so functionalization needs none"
        return proved(NAME, **evidence)
    function = subject.setting.watch.meta_function(subject.name)
    source = source_of(function)
    if source is not None:
        evidence["meta kernel"] = source
    if function is not None:
        wrong = signature.differences(function, subject.operator._schema)
        if wrong:
            return failed(NAME, f"the Meta function does not fit the schema: {'; '.join(wrong)}", **evidence)
        evidence["signature"] = "equal to the schema"
    else:
        evidence["signature"] = "not compared: no Python function is registered under Meta"
    sets = [on_npu(subject.inputs(size)) for size in range(sizes(subject.case))]
    try:
        # With one set of sizes alone a hard-coded size would look right.
        made = [fake.call(subject.operator, given) for given in sets]
    except Exception as error:
        if subject.case.raises:
            return proved(NAME, refuses=first_line(error), **evidence)
        if type(error).__name__ == "DynamicOutputShapeException":
            return failed(NAME, _SIZE_FROM_DATA, **evidence)
        count = function is not None and _wrong_count(subject, function, sets[0])
        if count:
            return failed(NAME, count, **evidence)
        return failed(NAME, f"the Meta kernel raises for case {subject.case.name!r}: {first_line(error)}")
    evidence["outputs"] = fake.describe(made[0].results)
    if subject.case.raises:
        return failed(NAME, "the Meta kernel accepts inputs of which the case says `raises`", **evidence)
    for call in made:
        problem = _outputs(subject, call) or _rule(subject, call, evidence)
        if problem:
            return failed(NAME, problem, **evidence)
    problem = apart.layout_problem(subject, made[0])
    if problem:
        return failed(NAME, problem, **evidence)
    sets = [sets[size] for size in ordinary_sizes(subject.case)] or sets[:1]
    symbolic = _symbolic(subject, sets, evidence)
    if symbolic.verdict != PROVED:
        return symbolic
    problem = apart.problem(subject, evidence)
    return failed(NAME, problem, **evidence) if problem else proved(NAME, **evidence)


def _wrong_count(subject: Subject, function: Callable[..., Any], given: Inputs) -> str:
    """Say how many results a Meta function returns if not as many as the schema has.

    The dispatcher says of one tensor for two results only that it is no sequence, and prints two for one.
    """
    returns = subject.spec.schema.returns
    try:
        results = results_of(fake.apply(function, given))
    except Exception:
        return ""  # It raises by itself, which is what the report says.
    one_list = len(returns) == 1 and str(returns[0].type).startswith("Tensor[")
    if len(results) == len(returns) or one_list:
        return ""
    plural = "result" if len(results) == 1 else "results"
    return f"the Meta kernel returns {len(results)} {plural}, the schema has {len(returns)}"


def _registration(subject: Subject, evidence: dict[str, Any]) -> str:
    name = subject.name
    if not has_meta(name):
        return (
            f"no Meta kernel is registered for {name}: fake tensors cannot run it"
            if subject.spec.schema.returns
            else ""
        )
    if name not in subject.setting.watch.compiled_without_meta:
        return ""
    breaks = graph_breaks(name)
    if not breaks:
        evidence["registered late"] = "a compile had started before, in which the operator took no part"
        return ""
    return (
        "the Meta kernel was registered after a model with the operator had been compiled; Dynamo keeps the "
        f"graph break it compiled then. Register it before the first compile. The graph break: {breaks[0]}"
    )


def _kind(name: str) -> str:
    kinds = {
        "Meta": "Meta kernel",
        "CompositeImplicitAutograd": "CompositeImplicitAutograd kernel",
        "CompositeExplicitAutograd": "CompositeExplicitAutograd kernel",
    }
    return next((text for key, text in kinds.items() if has_kernel(name, key)), "fake impl")


def _outputs(subject: Subject, call: fake.FakeCall) -> str:
    """Compare count, kind, device and memory of the results with the schema and the inputs."""
    returns = subject.spec.schema.returns
    if len(call.results) != len(returns):
        return f"the Meta kernel gives {len(call.results)} results, the schema has {len(returns)}"
    for index, (value, declared) in enumerate(zip(call.results, returns)):
        # The rule may say that a result is undefined; whether it does is compared with it below.
        if value is None and subject.spec.meta is not None and str(declared.type) == "Tensor":
            continue
        if not _fits(value, declared):
            return f"result {index} is {fake.describe(value)}, the schema says {declared.type}"
    if call.aliases:
        index, owner = call.aliases[0]
        return (
            f"result {index} of the Meta kernel shares the memory of its input `{owner}`; the graph would "
            "return the input in its place. Allocate it, e.g. torch.empty_like"
        )
    if call.changed:
        return f"the Meta kernel changed shape, strides or dtype of `{call.changed[0]}`"
    devices = {str(tensor.device) for _, tensor in call.given.tensors()}
    for index, value in enumerate(call.results):
        for tensor in flat_tensors([value]):
            if devices and str(tensor.device) not in devices:
                return f"result {index} is on {tensor.device}, the inputs are on {', '.join(sorted(devices))}"
    return ""


def _fits(value: Any, declared: Return) -> bool:
    import torch

    if not is_tensor_like(declared.type):
        return not isinstance(value, torch.Tensor)
    text = str(declared.type)
    if text.startswith("Tensor["):
        return isinstance(value, (list, tuple)) and all(isinstance(item, torch.Tensor) for item in value)
    return isinstance(value, torch.Tensor) or (value is None and text.endswith("?"))


def _rule(subject: Subject, call: fake.FakeCall, evidence: dict[str, Any]) -> str:
    """Compare the results with the declared rule, where there is one."""
    from opkit.shape.evaluation import RequirementFailed

    try:
        rule = expected.outputs(subject.declared, call.given)
    except RequirementFailed as error:
        return f"the Meta kernel accepts case {subject.case.name!r}, which the declared rule refuses: {error}"
    if isinstance(rule, str):
        evidence["rule"] = f"not compared: {rule}"
        return ""
    problem = expected.difference(subject.declared, call.results, rule)
    if problem:
        evidence["rule"] = "differs"
        return problem
    evidence["rule"] = "equal to the declared rule"
    return ""


def _symbolic(subject: Subject, sets: list[Any], evidence: dict[str, Any]) -> StageResult:
    """Judge the Meta kernel with symbols for sizes."""
    try:
        found = fake.probe(
            subject.operator, subject.case, sets, lambda given: expected.outputs(subject.declared, given)
        )
    except Exception as error:
        return failed(NAME, f"with symbolic sizes the Meta kernel raises: {first_line(error)}", **evidence)
    evidence["symbolic outputs"] = found.outputs
    evidence["guards"] = found.guards
    evidence["symbolic rule"] = (
        f"not compared: {found.not_compared}" if found.not_compared else "equal to the declared rule"
    )
    if found.unbacked:
        return failed(NAME, _SIZE_FROM_DATA, **evidence)
    if found.specialised:
        hint = (
            ""
            if subject.case.dims
            else "; name the dims that vary in `cases:`, numbers are taken as fixed then"
        )
        return failed(
            NAME,
            f"the Meta kernel turns a symbolic size into a number: {found.specialised[0]}{hint}",
            **evidence,
        )
    if found.broken:
        return failed(NAME, f"the Meta kernel branches on a size: the guard {found.broken}", **evidence)
    if found.differs:
        evidence["symbolic rule"] = "differs"
        return failed(NAME, f"with other sizes {found.differs}", **evidence)
    return proved(NAME, **evidence)
