"""Calls an operator on fake tensors, with sizes that are numbers or symbols."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from opkit.model.operator import Case, TensorSpec
from opkit.prove.subject import Subject, first_line, flat_tensors, place, results_of
from opkit.prove.values import Inputs
from opkit.shape.evaluation import Result

# Gives the declared results for some arguments, or says why there are none.
Rule = Callable[[Inputs], "tuple[Result, ...] | str"]


@dataclass(frozen=True)
class FakeCall:
    """What the Meta kernel gave for one set of arguments."""

    given: Inputs
    results: list[Any]
    # Inputs whose shape, strides or dtype the call changed.
    changed: list[str]
    # (result number, name of the input whose memory it shares).
    aliases: list[tuple[int, str]]


def call(operator: Any, given: Inputs) -> FakeCall:
    """Call the operator on fake NPU tensors of these sizes. Raises whatever the Meta kernel raises."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode() as mode:
        return _call(operator, given.map(mode.from_tensor))


def call_model(subject: Subject, given: Inputs) -> list[Any]:
    """Give the results of what a graph stage compiles, on fake NPU tensors of these sizes."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode() as mode:
        args, kwargs = subject.arguments(given.map(mode.from_tensor))
        return results_of(subject.model()(*args, **kwargs))


def apply(function: Callable[..., Any], given: Inputs) -> Any:
    """Call a Python function on fake NPU tensors, past the dispatcher. Raises whatever it raises."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode() as mode:
        args, kwargs = given.map(mode.from_tensor).call()
        return function(*args, **kwargs)


def _call(operator: Any, fakes: Inputs) -> FakeCall:
    import torch

    before = [_metadata(tensor) for _, tensor in fakes.tensors()]
    args, kwargs = fakes.call()
    results = results_of(operator(*args, **kwargs))
    changed = [
        place(path) for (path, tensor), old in zip(fakes.tensors(), before) if _metadata(tensor) != old
    ]
    aliases = [
        (index, place(path))
        for index, result in enumerate(results)
        for tensor in flat_tensors([result])
        for path, owner in fakes.tensors()
        if torch._C._is_alias_of(tensor, owner)
    ]
    return FakeCall(fakes, results, changed, aliases)


def _metadata(tensor: Any) -> tuple[Any, ...]:
    return tuple(tensor.shape), tuple(tensor.stride()), tensor.dtype


def describe(value: Any) -> Any:
    """Describe a result for evidence: `float16[4, 8] npu:0`, strides only where not contiguous."""
    import torch

    if isinstance(value, torch.Tensor):
        dims = ", ".join(str(dim) for dim in value.shape)
        dtype = str(value.dtype).removeprefix("torch.")
        strides = "" if value.is_contiguous() else f" strides {list(value.stride())}"
        return f"{dtype}[{dims}] {value.device}{strides}"
    if isinstance(value, (list, tuple)):
        return [describe(item) for item in value]
    return repr(value)


@dataclass(frozen=True)
class Probe:
    """What a call on symbolic sizes says about a Meta kernel."""

    outputs: list[Any]
    # Dims that the Meta kernel turned into numbers: "x.shape[0] was fixed to 5".
    specialised: list[str]
    # Guards on sizes, as text, and the first one that does not hold for another size of the case.
    guards: list[str]
    broken: str
    unbacked: list[str]
    # How the results differ from the declared rule for other sizes; "" if they do not, or there is no rule.
    differs: str
    # Why the rule was not compared; "" if it was.
    not_compared: str


def probe(operator: Any, case: Case, sets: list[Inputs], rule: Rule) -> Probe:
    """Call the operator with the case's named dims as symbols (all dims where it names none).

    `sets` are the case's arguments, one per set of sizes; the first gives the hints. `rule` gives the results
    that are declared, or says why there is no rule. Raises what the kernel raises.
    """
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext

    environment = ShapeEnv(duck_shape=False)
    dynamic = _dynamic_dims(case, sets[0])
    symbols: dict[Any, tuple[tuple[str, int | None], int]] = {}
    with FakeTensorMode(shape_env=environment) as mode:
        made = {}
        for path, tensor in sets[0].tensors():
            sizes = [DimDynamic.DYNAMIC if flag else DimDynamic.STATIC for flag in dynamic[path]]
            fake = mode.from_tensor(tensor, symbolic_context=StatelessSymbolicContext(dynamic_sizes=sizes))
            made[id(tensor)] = fake
            for dim, size in enumerate(fake.shape):
                if not isinstance(size, int):
                    symbols[size.node.expr] = (path, dim)
        # Making the inputs already guards; only what the kernel adds counts.
        guards_before, fixed_before = len(environment.guards), dict(environment.replacements)
        result = _call(operator, sets[0].map(lambda tensor: made[id(tensor)]))
        guards = [guard.expr for guard in environment.guards[guards_before:]]
        fixed = {s: e for s, e in environment.replacements.items() if s not in fixed_before}
        unbacked = [str(symbol) for symbol in environment.pending_fresh_unbacked_symbols]
        outputs = describe(result.results)
        # The rule comes last: it may guard on sizes as well.
        wanted = _declared(rule, result.given)
        differs = "" if isinstance(wanted, str) else _differs(result, wanted, environment, symbols, sets[0])
    return Probe(
        outputs=outputs,
        specialised=_specialised(fixed, symbols),
        guards=[str(guard) for guard in guards],
        broken=_broken(guards, symbols, sets),
        unbacked=unbacked,
        differs=differs,
        not_compared=wanted if isinstance(wanted, str) else "",
    )


def _declared(rule: Rule, given: Inputs) -> tuple[Result, ...] | str:
    try:
        return rule(given)
    except Exception as error:
        return f"with symbolic sizes the rule raises {first_line(error)}"


def _differs(
    call: FakeCall, wanted: tuple[Result, ...], environment: Any, symbols: Mapping[Any, Any], given: Inputs
) -> str:
    """Compare the expressions of Meta kernel and rule, at sizes that are multiples of the hints.

    Multiples keep what both may rely on: equal dims, and dims that something divides.
    """
    tensors = dict(given.tensors())
    listed = len(call.results) == 1 and isinstance(call.results[0], (list, tuple))
    values = call.results[0] if listed else call.results
    for factor in (2, 3):
        sizes = {symbol: factor * tensors[path].shape[dim] for symbol, (path, dim) in symbols.items()}
        if any(guard.expr.subs(sizes) == False for guard in environment.guards):  # noqa: E712 - sympy's false
            continue
        for index, (value, result) in enumerate(zip(values, wanted)):
            if value is None or result.argument is not None or result.shape is None:
                continue
            got, said = _at(value.shape, sizes), _at(result.shape, sizes)
            if got != said:
                return f"result {index} is {got}, the declared rule says {said}, for {_where(symbols, sizes)}"
    return ""


def _at(shape: Any, sizes: Mapping[Any, int]) -> list[Any]:
    return [dim if isinstance(dim, int) else dim.node.expr.subs(sizes) for dim in shape]


def _where(symbols: Mapping[Any, Any], sizes: Mapping[Any, int]) -> str:
    return ", ".join(f"{place(path)}.shape[{dim}]={sizes[symbol]}" for symbol, (path, dim) in symbols.items())


def _dynamic_dims(case: Case, given: Inputs) -> Mapping[tuple[str, int | None], list[bool]]:
    """Tell which dims of each tensor vary: the named ones, or all where the case names none."""
    values = dict(case.inputs)
    named = bool(case.dims)
    found = {}
    for (name, index), tensor in given.tensors():
        value = values[name]
        spec = value[index] if isinstance(value, tuple) and index is not None else value
        assert isinstance(spec, TensorSpec)
        found[name, index] = [not named or isinstance(dim, str) for dim, _ in zip(spec.dims, tensor.shape)]
    return found


def _specialised(fixed: Mapping[Any, Any], symbols: Mapping[Any, Any]) -> list[str]:
    found = []
    for symbol, value in fixed.items():
        if symbol in symbols and not value.free_symbols:
            path, dim = symbols[symbol]
            found.append(f"{place(path)}.shape[{dim}] was fixed to {value}")
    return found


def _broken(guards: list[Any], symbols: Mapping[Any, Any], sets: list[Inputs]) -> str:
    """Find a guard that another set of sizes of the case violates: it would recompile there."""
    for given in sets[1:]:
        tensors = dict(given.tensors())
        sizes = {symbol: tensors[path].shape[dim] for symbol, (path, dim) in symbols.items()}
        for guard in guards:
            value = guard.subs(sizes)
            if value.is_Boolean and not bool(value):
                shown = ", ".join(
                    f"{place(symbols[s][0])}.shape[{symbols[s][1]}]={sizes[s]}"
                    for s in sorted(guard.free_symbols, key=str)
                    if s in symbols
                )
                return f"{guard} does not hold for {shown}"
    return ""
