"""The places in a model where an operator is proved: what comes before it, after it, and around it.

A context is a function of the operator's arguments by name that gives tensors. It makes the operator's own
copies of what the operator writes, so that several contexts go into one model without seeing each other.
What is in a `forward` runs under Dynamo, where every inner call and comprehension costs time: it is plain,
and gives results as they come, in lists that `opkit.prove.eager` flattens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

from opkit.model.operator import TensorSpec
from opkit.prove.layers import attribute_of, module_of
from opkit.prove.operands import after, before, each, flat
from opkit.prove.subject import Function, Subject
from opkit.prove.values import Inputs

Values = dict[str, Any]
# Layers of the loop, and rows before and after the slice of a bigger buffer.
LAYERS, MARGIN = 3, 1
METHOD = "a method of a module with parameters and buffers"


@dataclass(frozen=True)
class Context:
    """One place in a model."""

    name: str
    # Values by name -> what the model returns: tensors, in lists and tuples of any depth.
    forward: Callable[[Values], Any]
    # Tensors that live outside of the call: parameters, buffers, caches. The call may write them.
    state: tuple[Any, ...] = ()
    # How the operator is placed there, e.g. which argument takes the earlier result.
    detail: str = ""
    # The other operators in it.
    others: tuple[Operator, ...] = ()


@dataclass(frozen=True)
class Refused:
    """A context that cannot be built for an operator and case, and why."""

    name: str
    reason: str


@dataclass(frozen=True)
class Operator:
    """An operator with the arguments of a case, as contexts call it."""

    subject: Subject
    # On the NPU.
    given: Inputs
    # Every argument that the call passes, by name.
    values: Values
    call: Callable[[Values], Any]
    # A tuple, because models loop over it: a loop over a frozenset fails in the guards of Dynamo 2.7.
    written: tuple[str, ...]
    # What an eager call gave; NPU tensors.
    results: list[Any] = field(default_factory=list)

    def devices(self) -> dict[str, Any]:
        """List the arguments that are tensors, or lists of some, on the NPU."""
        names = {path[0] for path, _ in self.given.tensors()} - self.given.host
        return {name: self.values[name] for name in self.values if name in names}

    def tensors(self) -> dict[str, Any]:
        """List the single tensors that the operator only reads and that may hold anything.

        Integers may be indices, and what the case writes out may have to be as it is.
        """
        import torch

        fixed = {n for n, v in self.subject.case.inputs if isinstance(v, TensorSpec) and v.values}
        return {
            name: value
            for name, value in self.devices().items()
            if isinstance(value, torch.Tensor)
            and value.is_floating_point()
            and name not in fixed.union(self.written)
        }


def operator_of(subject: Subject, given: Inputs) -> Operator:
    """Make an operator ready to be called by name with the arguments of a case, which are on the NPU."""
    mutated = [argument.name for argument in subject.spec.schema.mutated]
    written = tuple(name for name in mutated if name in given.values)
    if subject.call is not None:
        function = subject.call
        return Operator(subject, given, dict(given.values), lambda values: function(**values), written)
    positional, keyword = given.call()
    names = [argument.name for argument in given.schema.positional][: len(positional)]
    values = {**dict(zip(names, positional)), **keyword}
    call = caller(subject.operator, names, list(keyword))
    return Operator(subject, given, values, call, tuple(name for name in written if name in values))


def with_results(op: Operator, results: list[Any]) -> Operator:
    """Add what an eager call gave, from which contexts see what fits where."""
    return replace(op, results=results)


def caller(operator: Any, names: list[str], keywords: list[str]) -> Callable[[Values], Any]:
    """Make a function that calls the operator with arguments by name.

    Dynamo traces a comprehension as one more function, so that there is none here.
    """

    def call(values: Values) -> Any:
        args, kwargs = [], {}
        for name in names:
            args.append(values[name])
        for name in keywords:
            kwargs[name] = values[name]
        return operator(*args, **kwargs)

    return call


def contexts(op: Operator, others: Mapping[str, Operator]) -> list[Context | Refused]:
    """List every context, built or refused; `others` are the operators that share a graph with this one."""
    return [
        _between(op),
        _twice(op),
        _loop(op),
        _method(op),
        _slice(op),
        _discarded(op),
        _same(op),
        _overlapping(op),
        _together(op, others),
    ]


def own_copies(op: Operator, values: Values) -> Values:
    """Give the operator its own copies of what it writes."""
    if not op.written:
        return values
    copies = dict(values)
    for name in op.written:
        copies[name] = each(values[name], lambda tensor: tensor.clone())
    return copies


def returned(op: Operator, result: Any, values: Values) -> list[Any]:
    """List what a call gave and wrote."""
    return [result, [values[name] for name in op.written]] if op.written else [result]


def call_alone(op: Operator) -> list[Any]:
    """Call an operator with the arguments it comes with."""
    values = own_copies(op, op.values)
    return returned(op, op.call(values), values)


def _between(op: Operator) -> Context | Refused:
    name = "between aten operators"
    fed = set(op.devices())
    if not fed and not op.results:
        return Refused(name, "the operator neither takes nor gives a tensor on the NPU")

    def forward(values: Values) -> list[Any]:
        values = {n: each(v, before) if n in fed else v for n, v in values.items()}
        result = op.call(values)
        return [after(tensor) for tensor in flat(returned(op, result, values))]

    return Context(name, forward)


def chain(op: Operator) -> tuple[int, str] | None:
    """Find (result, argument) so that the result of one call fits as the argument of the next."""
    import torch

    for index, result in enumerate(op.results):
        for name, value in op.tensors().items():
            if isinstance(result, torch.Tensor) and _alike(result, value):
                return index, name
    return None


def _alike(one: Any, two: Any) -> bool:
    return bool(one.shape == two.shape and one.dtype == two.dtype and one.device == two.device)


def _how(op: Operator) -> str:
    link = chain(op)
    if link is not None:
        return f"result {link[0]} is the next `{link[1]}`"
    return "the same memory is written again" if op.written else "no result fits an argument"


def _twice(op: Operator) -> Context | Refused:
    link = chain(op)

    def forward(values: Values) -> list[Any]:
        values = own_copies(op, values)
        first = op.call(values)
        second = values if link is None else {**values, link[1]: _item(first, link[0])}
        return [first, returned(op, op.call(second), values)]

    return Context("twice in a row", forward, detail=_how(op))


def _item(result: Any, index: int) -> Any:
    return result[index] if isinstance(result, tuple) else result


def _loop(op: Operator) -> Context | Refused:
    """Call in a loop; each layer has weights of its own, but for what one layer hands to the next."""
    link = chain(op)
    weights = [n for n in op.tensors() if link is not None and n != link[1]]
    layers = [{n: op.values[n].clone() for n in weights} for _ in range(LAYERS)]

    def forward(values: Values) -> list[Any]:
        values = own_copies(op, values)
        found: list[Any] = []
        for layer in layers:
            result = op.call({**values, **layer})
            if link is not None:
                values = {**values, link[1]: _item(result, link[0])}
            else:
                found.append(result)
        return [found, returned(op, result, values)]

    state = tuple(tensor for layer in layers for tensor in layer.values())
    return Context(f"in a loop over {LAYERS} layers", forward, state, _how(op))


def _method(op: Operator) -> Context | Refused:
    """Call in a method of a module: what the operator writes is a buffer, and all but one input a weight."""
    import torch

    tensors = {n: v for n, v in op.devices().items() if isinstance(v, torch.Tensor)}
    read = [n for n in tensors if n not in op.written]
    owned = [n for n in tensors if n in op.written] + read[1:] if len(read) > 1 else [*tensors]
    if not owned:
        return Refused(METHOD, "the operator takes no tensor on the NPU that a module could own")
    module = module_of(op.call, {n: tensors[n] for n in owned}, op.written)

    # A list is no buffer.
    lists = [n for n in op.written if n not in owned]

    def forward(values: Values) -> Any:
        values = dict(values)
        for name in lists:
            values[name] = each(values[name], lambda tensor: tensor.clone())
        return [module.attend(values), [values[name] for name in lists]]

    state = (*module.parameters(), *module.buffers())
    weights = {attribute for attribute, _ in module.named_parameters()}
    kinds = [f"`{n}` is a {'parameter' if attribute_of(n) in weights else 'buffer'}" for n in owned]
    return Context(METHOD, forward, state, ", ".join(kinds))


def _slice(op: Operator) -> Context | Refused:
    name = "in place on a slice of a bigger buffer"
    import torch

    if not op.written:
        return Refused(name, "the operator writes no argument")
    caches: Values = {}
    for argument in sorted(op.written):
        value = op.values[argument]
        if not isinstance(value, torch.Tensor):
            return Refused(name, f"`{argument}` is not one tensor")
        if not value.dim():
            return Refused(name, f"`{argument}` has no dim to take a slice of")
        if argument in op.given.host:
            return Refused(name, f"`{argument}` is on the host")
        row = value[:1] if len(value) else value.new_zeros((1, *value.shape[1:]))
        caches[argument] = torch.cat([row] * MARGIN + [value] + [row] * MARGIN)
    lengths = {argument: len(op.values[argument]) for argument in caches}

    def forward(values: Values) -> Any:
        views = {n: caches[n][MARGIN : MARGIN + lengths[n]] for n in caches}
        return op.call({**values, **views})

    return Context(name, forward, tuple(caches.values()), ", ".join(f"`{n}`" for n in caches))


def _discarded(op: Operator) -> Context | Refused:
    name = "results discarded"
    if op.subject.spec.side_effect:
        return Refused(name, "what the operator does is no tensor; that it stays is seen by itself")
    if not op.results:
        return Refused(name, "the operator returns nothing")
    if not op.written:
        return Refused(name, "the operator writes nothing, so that it is rightly removed with its results")

    def forward(values: Values) -> list[Any]:
        values = own_copies(op, values)
        op.call(values)
        return returned(op, None, values)

    return Context(name, forward)


def _pair(op: Operator) -> tuple[str, str] | str:
    """Find two arguments that are only read and look alike; else say why there are none."""
    for one, two in combinations(op.tensors(), 2):
        if _alike(op.values[one], op.values[two]):
            return one, two
    return "no two floating-point arguments that are only read have the same shape and dtype"


def _same(op: Operator) -> Context | Refused:
    name = "the same tensor twice"
    pair = _pair(op)
    if isinstance(pair, str):
        return Refused(name, pair)
    one, two = pair

    def forward(values: Values) -> list[Any]:
        values = own_copies(op, values)
        values = {**values, two: values[one]}
        return returned(op, op.call(values), values)

    return Context(name, forward, detail=f"`{one}` and `{two}`")


def _overlapping(op: Operator) -> Context | Refused:
    import torch

    name = "overlapping views"
    pair = _pair(op)
    if isinstance(pair, str):
        return Refused(name, pair)
    one, two = pair
    value = op.values[one]
    if not value.dim() or not value.numel():
        return Refused(name, f"`{one}` has no two rows")
    length = len(value)
    buffer = torch.cat([value, value[:1]])

    def forward(values: Values) -> list[Any]:
        values = own_copies(op, values)
        values = {**values, one: buffer[:length], two: buffer[1:]}
        return returned(op, op.call(values), values)

    return Context(name, forward, (buffer,), f"`{one}` and `{two}`, one row apart")


def _together(op: Operator, others: Mapping[str, Operator]) -> Context | Refused:
    name = "with other operators of the file in one graph"
    if not others:
        return Refused(name, "no other operator of the file can be in this process's graph")

    def forward(values: Values) -> list[Any]:
        values = own_copies(op, values)
        found = [call_alone(other) for other in others.values()]
        return [found, returned(op, op.call(values), values)]

    state = tuple(tensor for other in others.values() for _, tensor in other.given.tensors())
    return Context(name, forward, state, ", ".join(others), tuple(others.values()))


def combined(built: list[Context]) -> Function:
    """Put contexts into one model, which takes the operator's arguments by name."""

    def model(values: Values) -> list[Any]:
        return [context.forward(values) for context in built]

    return model


def describe(found: Context) -> str:
    """Name a context in evidence."""
    return f"{found.name} ({found.detail})" if found.detail else found.name
