"""Stage host: the eager kernel does what the Meta kernel and the schema say.

Run outside of any graph: with every set of sizes and of dtypes, twice with the same values, and with inputs
that are not contiguous. Shapes, dtypes and strides of the results are compared with the Meta kernel's, and
the arguments before and after with what the schema declares as written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from opkit.errors import OpkitError
from opkit.prove import capture, fake, kernels
from opkit.prove.compare import close, layouts, same_bits
from opkit.prove.protocol import StageResult, failed, proved
from opkit.prove.subject import Subject, first_line, flat_tensors, on_cpu, on_npu, place, results_of
from opkit.prove.values import Inputs, Path, dtype_sets, sizes
from opkit.prove.watch import has_meta

NAME = "host"
# How much larger numbers are in a last try to see a write.
_LARGE = 64.0
_STRIDED = "with non-contiguous inputs"


def run(subject: Subject) -> StageResult:
    """Call the operator eagerly on the NPU and compare what it did with what is declared."""
    evidence: dict[str, Any] = {"kernel": kernels.describe_kernel(subject)}
    try:
        first = _call_signed_or_not(subject, evidence)
    except Exception as error:
        if subject.case.raises:
            return proved(NAME, refuses=first_line(error), **evidence)
        return failed(NAME, _raised(error), **evidence)
    evidence["outputs"] = fake.describe(first.results)
    if subject.case.raises:
        return failed(NAME, "the eager kernel accepts inputs of which the case says `raises`", **evidence)
    subject.uncomputed = first.uncomputed
    if subject.uncomputed:
        evidence["not computed here"] = subject.uncomputed
    wrong = _judge(subject, first) or _repeat(subject, first, evidence)
    calls = [first]
    for where, call in () if wrong else _others(subject, evidence):
        strides = where != _STRIDED or not kernels.is_of_aten_operators(subject)
        wrong = call if isinstance(call, str) else _judge(subject, call, strides)
        if wrong:
            hint = "; make what the kernel allocates contiguous, or give both the same strides"
            wrong = f"{where}: {wrong}{hint if where == _STRIDED and 'Meta kernel says' in wrong else ''}"
            break
        calls += [] if isinstance(call, str) else [call]
    evidence["written"] = [place(path) for path in first.written]
    evidence["calls"] = len(calls) + 1
    wrong = wrong or _unwritten(subject, calls)
    if not wrong and NAME in subject.setting.asked:
        wrong = _varied(subject, evidence)
    return failed(NAME, wrong, **evidence) if wrong else proved(NAME, **evidence)


@dataclass(frozen=True)
class _Call:
    """One eager call."""

    given: Inputs
    before: Inputs
    after: Inputs
    results: list[Any]
    # Whether the device did anything, and what of it the stand-in does not compute.
    launched: bool
    uncomputed: list[str]

    @property
    def written(self) -> list[Path]:
        """List the tensors that changed."""
        pairs = zip(self.before.tensors(), self.after.tensors())
        return [path for (path, old), (_, new) in pairs if not same_bits(old, new)]


def _call(subject: Subject, made: Inputs) -> _Call:
    given = on_npu(made)
    before = on_cpu(given)
    args, kwargs = given.call()
    capture.forget()
    results = results_of(subject.operator(*args, **kwargs))
    after = on_cpu(given)
    return _Call(given, before, after, results, *capture.launches())


def _call_signed_or_not(subject: Subject, evidence: dict[str, Any]) -> _Call:
    """Call with the case's first sizes; should the kernel refuse negative numbers, with positive ones."""
    try:
        return _call(subject, subject.inputs())
    except Exception as error:
        if subject.case.raises:
            raise
        subject.signed = False
        try:
            call = _call(subject, subject.inputs())
        except Exception:
            subject.signed = True
            raise error from None
        evidence["values"] = f"none is negative: with negative ones the kernel raises {first_line(error)}"
        return call


def _raised(error: Exception) -> str:
    """Say what a call raised. opkit's own words, about a reference, are a whole sentence already."""
    said = first_line(error)
    if isinstance(error, OpkitError):
        return said.removeprefix(f"{type(error).__name__}: ")
    return f"the eager kernel raises: {said}"


def _others(subject: Subject, evidence: dict[str, Any]) -> Iterator[tuple[str, _Call | str]]:
    """Call with new values, every other set of sizes and of dtypes, and with transposed inputs."""
    case = subject.case
    kinds = [("with other values", {"seed": 1})]
    kinds += [(_named(case.dims, size), {"size": size}) for size in range(1, sizes(case))]
    kinds += [(_named(case.dtypes, dtype), {"dtype": dtype}) for dtype in range(1, dtype_sets(case))]
    for where, which in kinds:
        try:
            call = _call(subject, subject.inputs(**which))
        except Exception as error:
            yield where, _raised(error)
            return
        yield where, call
    # A kernel that opkit made allocates what the Meta kernel says.
    made = subject.inputs().map(_transposed)
    if kernels.is_bound(subject) or all(tensor.is_contiguous() for _, tensor in made.tensors()):
        return
    try:
        call = _call(subject, made)
        if has_meta(subject.name):
            fake.call(subject.operator, on_npu(made))
    except Exception as error:
        evidence["non-contiguous inputs"] = f"refused: {first_line(error)}"
        return
    evidence["non-contiguous inputs"] = "accepted"
    other = _judge(subject, call) if kernels.is_of_aten_operators(subject) else ""
    if "Meta kernel says" in other:
        evidence["non-contiguous inputs"] = f"accepted; {other}"
    yield _STRIDED, call


def _named(choices: Any, index: int) -> str:
    """Name a set of sizes or dtypes: `with B=3`."""
    return "with " + ", ".join(f"{name}={values[min(index, len(values) - 1)]}" for name, values in choices)


def _transposed(tensor: Any) -> Any:
    """Lay the elements out with the first dim innermost; the shape stays."""
    backwards = list(reversed(range(tensor.dim())))
    return tensor.permute(backwards).contiguous().permute(backwards)


def _judge(subject: Subject, call: _Call, strides: bool = True) -> str:
    """Compare one call with the Meta kernel and the schema."""
    problem = _aliases(call.results, call.given)
    if not problem and has_meta(subject.name):
        try:
            metas = fake.call(subject.operator, call.given).results
        except Exception as error:
            return f"the Meta kernel raises: {first_line(error)}"
        problem = layouts(call.results, metas, "the kernel", strides)
    if problem:
        return problem
    mutated = {argument.name for argument in subject.spec.schema.mutated}
    undeclared = [place(path) for path in call.written if path[0] not in mutated]
    if undeclared:
        return (
            f"the kernel writes {', '.join(undeclared)}, which the schema declares as read-only; "
            "mark it with (a!)"
        )
    return ""


def _repeat(subject: Subject, first: _Call, evidence: dict[str, Any]) -> str:
    """Call again with the same values: what differs then is random or comes from earlier calls."""
    import torch

    state = torch.npu.get_rng_state()
    again = _call(subject, subject.inputs())
    subject.random = not torch.equal(state, torch.npu.get_rng_state())
    problem = _judge(subject, again)
    if problem:
        return f"the second time: {problem}"
    if subject.random:
        evidence["random"] = "the operator draws from the NPU's generator"
    if subject.random or first.uncomputed or not first.launched:
        return ""
    pairs = [(f"result {i}", a, b) for i, (a, b) in enumerate(zip(first.results, again.results))]
    pairs += [
        (f"argument {place(path)} after the call", a, b)
        for (path, a), (_, b) in zip(first.after.tensors(), again.after.tensors())
    ]
    for what, old, new in pairs:
        olds, news = ([tensor.cpu() for tensor in flat_tensors([value])] for value in (old, new))
        problem = close(what, news, olds, "the first call's")
        if problem:
            return (
                "two calls with the same inputs do not give the same: the kernel keeps state or draws random "
                f"numbers on the host, which a replay does not do again; {problem}"
            )
    return ""


def _unwritten(subject: Subject, calls: list[_Call]) -> str:
    """Find an argument declared as written that no call wrote."""
    mutated = {argument.name for argument in subject.spec.schema.mutated}
    written = {path for call in calls for path in call.written}
    left = [path for path, _ in calls[0].before.tensors() if path[0] in mutated and path not in written]
    if not left or subject.uncomputed:
        return ""
    try:
        written |= set(_call(subject, subject.inputs(seed=2, scale=_LARGE)).written)
    except Exception:
        pass  # Only one more try: without it the verdict stays that nothing was written.
    left = [path for path in left if path not in written]
    if not left:
        return ""
    return (
        f"no value of {place(left[0])} changed in any call, and the schema says that it is written; write a "
        "case with values that the kernel changes, or drop the (a!) if it never does"
    )


def _varied(subject: Subject, evidence: dict[str, Any]) -> str:
    """Compare kernel and Meta kernel in every variation of the case, as `opkit audit --host` does.

    Only where this stage is asked for by name: it is a question about the Meta kernel, and takes many calls.
    """
    from opkit.audit.host import compare
    from opkit.audit.protocol import GOOD
    from opkit.audit.variations import variations

    if not has_meta(subject.name):
        return ""
    spec = replace(subject.spec, cases=(subject.case,))
    counts: Counter[str] = Counter()
    for variation in variations(spec):
        found = compare(variation, spec, subject.operator, subject.operator, primary=False)
        counts[found.verdict] += 1
        if found.verdict not in GOOD:
            wrong = found.verdict.replace("rule", "Meta kernel").replace("host", "kernel")
            return f"{found.call}: {wrong}: the kernel gives {found.host}; the Meta kernel {found.rule}"
    evidence["variations"] = dict(counts)
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
