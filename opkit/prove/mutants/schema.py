"""Mutants of the schema: what it says about writing, and what is registered in its place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from opkit.errors import OpkitError
from opkit.model.operator import OpSpec
from opkit.model.schema import (
    Alias,
    Argument,
    BaseType,
    Default,
    OptionalType,
    Return,
    base_of,
    is_tensor_like,
)
from opkit.prove.mutants.kind import META, SCHEMA, Break, Kind, NotApplicable, Product, build

_WRITE = Alias(("m",), True)


def _declared(product: Product, spec: OpSpec) -> Product:
    """The declaration itself is wrong: everything is generated from it and judged against it."""
    try:
        return build(product.op_file, spec, product.style, product.environment)
    except OpkitError as error:
        raise NotApplicable(f"opkit refuses to generate that: {error.message}") from error


def _registered(product: Product, spec: OpSpec) -> Product:
    """The declaration is right, another schema is registered."""
    try:
        return product.regenerated(spec, (META,))
    except OpkitError as error:
        raise NotApplicable(f"opkit refuses to generate that: {error.message}") from error


def _with_arguments(spec: OpSpec, arguments: list[Argument]) -> OpSpec:
    return replace(spec, schema=replace(spec.schema, arguments=tuple(arguments)))


def _annotated(spec: OpSpec, changes: dict[str, Alias | None]) -> OpSpec:
    arguments = [replace(a, alias=changes.get(a.name, a.alias)) for a in spec.schema.arguments]
    return _with_arguments(spec, arguments)


Make = Callable[[Product, OpSpec], Product]


def _dropped(make: Make) -> Break:
    def apply(product: Product) -> Iterator[tuple[str, Product]]:
        mutated = product.spec.schema.mutated
        if not mutated:
            raise NotApplicable("it writes no argument")
        for argument in mutated:
            yield argument.name, make(product, _without_annotation(product.spec, argument))

    return apply


def _without_annotation(spec: OpSpec, argument: Argument) -> OpSpec:
    """Drop the annotation, and that of results that are the argument."""
    spec = _annotated(spec, {argument.name: None})
    written = set(argument.alias.before) if argument.alias else set()
    returns = [
        replace(r, alias=None) if r.alias and written & set(r.alias.before) else r
        for r in spec.schema.returns
    ]
    return replace(spec, schema=replace(spec.schema, returns=tuple(returns)))


def _added(make: Make) -> Break:
    def apply(product: Product) -> Iterator[tuple[str, Product]]:
        arguments = product.spec.schema.arguments
        free = [a for a in arguments if base_of(a.type).name == "Tensor" and a.alias is None]
        if not free:
            raise NotApplicable("it writes every tensor it takes")
        for argument in free:
            yield argument.name, make(product, _annotated(product.spec, {argument.name: _WRITE}))

    return apply


def _moved(product: Product) -> Iterator[tuple[str, Product]]:
    schema = product.spec.schema
    free = [a for a in schema.arguments if a.is_tensor and a.alias is None]
    if not schema.mutated or not free:
        raise NotApplicable("it does not take both a tensor it writes and one it does not")
    old = schema.mutated[0]
    changes = {old.name: None, free[0].name: old.alias}
    yield f"{old.name} -> {free[0].name}", _declared(product, _annotated(product.spec, changes))


def _returned(write: bool) -> Break:
    """Declare that the first result is an argument."""

    def apply(product: Product) -> Iterator[tuple[str, Product]]:
        schema = product.spec.schema
        owners = [a for a in schema.arguments if a.is_tensor and a.is_mutated is write]
        fresh = [i for i, r in enumerate(schema.returns) if r.alias is None and str(r.type) == "Tensor"]
        if not owners or not fresh:
            raise NotApplicable(
                f"it has no tensor that it {'writes' if write else 'only reads'}, or no result"
            )
        owner = owners[0]
        alias = owner.alias or Alias(("m",), False)
        returns: list[Return] = list(schema.returns)
        returns[fresh[0]] = replace(returns[fresh[0]], alias=alias)
        spec = _annotated(product.spec, {owner.name: alias})
        spec = replace(spec, schema=replace(spec.schema, returns=tuple(returns)))
        yield f"result {fresh[0]} is {owner.name}", _declared(product, spec)

    return apply


_OTHER_TYPES = {
    "int": "float",
    "SymInt": "int",
    "float": "Scalar",
    "bool": "int",
    "Scalar": "float",
    "str": "int",
}


def _other_type(product: Product) -> Iterator[tuple[str, Product]]:
    found = False
    for argument in product.spec.schema.arguments:
        other = _OTHER_TYPES.get(str(argument.type))
        if other is not None and argument.default is None:
            found = True
            changed = replace(argument, type=BaseType(other))
            yield f"{argument.name}: {other}", _registered(product, _replaced(product.spec, changed))
    if not found:
        raise NotApplicable("it takes no host value without a default")


def _optional_flipped(product: Product) -> Iterator[tuple[str, Product]]:
    tensors = [
        a for a in product.spec.schema.arguments if str(a.type) in ("Tensor", "Tensor?") and not a.alias
    ]
    tensors = [a for a in tensors if a.default is None]
    if not tensors:
        raise NotApplicable("it takes no single tensor")
    for argument in tensors[:2]:
        type_ = argument.type
        changed = type_.element if isinstance(type_, OptionalType) else OptionalType(type_)
        spec = _replaced(product.spec, replace(argument, type=changed))
        yield f"{argument.name}: {changed}", _registered(product, spec)


def _replaced(spec: OpSpec, argument: Argument) -> OpSpec:
    return _with_arguments(spec, [argument if a.name == argument.name else a for a in spec.schema.arguments])


def _default(product: Product) -> Iterator[tuple[str, Product]]:
    for argument in product.spec.schema.arguments:
        value = None if argument.default is None else argument.default.value
        if isinstance(value, (int, float)) and base_of(argument.type).name in (
            "int",
            "float",
            "bool",
            "Scalar",
        ):
            other = (not value) if isinstance(value, bool) else value + 1
            changed = replace(argument, default=Default(other, str(other)))
            yield argument.name, _registered(product, _replaced(product.spec, changed))
            return
    raise NotApplicable("no number or flag has a default")


def _order(product: Product) -> Iterator[tuple[str, Product]]:
    arguments = list(product.spec.schema.arguments)
    for i, (one, two) in enumerate(zip(arguments, arguments[1:])):
        alike = (one.kwarg_only, one.default is None) == (two.kwarg_only, two.default is None)
        if alike and not one.kwarg_only:
            arguments[i : i + 2] = [two, one]
            spec = _with_arguments(product.spec, arguments)
            yield f"{one.name} and {two.name}", _registered(product, spec)
            return
    raise NotApplicable("no two arguments can change places")


def _keyword_only(product: Product) -> Iterator[tuple[str, Product]]:
    arguments = list(product.spec.schema.arguments)
    plain = [i for i, a in enumerate(arguments) if not a.kwarg_only]
    if not plain or is_tensor_like(arguments[plain[-1]].type) or arguments[plain[-1]].alias:
        raise NotApplicable("its last positional argument is a tensor, or there is none")
    arguments[plain[-1]] = replace(arguments[plain[-1]], kwarg_only=True)
    name = arguments[plain[-1]].name
    yield name, _registered(product, _with_arguments(product.spec, arguments))


def _kind(name: str, breaks: str, matters: str, apply: Break, needs_kernel: bool = False) -> Kind:
    return Kind(f"schema-{name}", SCHEMA, breaks, matters, apply, needs_kernel)


KINDS = (
    _kind("write-undeclared", "The declaration lacks the (a!) of an argument that the kernel writes.",
          "Functionalization does not see the write: it is lost, or happens at another time.",
          _dropped(_declared), needs_kernel=True),
    _kind("write-overdeclared", "The declaration has an (a!) for an argument that is only read.",
          "The graph copies the argument, orders everything around it, and GE needs an output it has not.",
          _added(_declared), needs_kernel=True),
    _kind("write-elsewhere", "The (a!) stands at another argument.",
          "One write is lost, another is made up.", _moved, needs_kernel=True),
    _kind("returns-written", "A result is declared as the argument that is written.",
          "Functionalization refuses such operators; outside of a graph the result shares memory.",
          _returned(True)),
    _kind("returns-read", "A result is declared as a view of an argument.",
          "Functionalization refuses such operators.", _returned(False)),
    _kind("registered-without-write", "The schema that is registered lacks an (a!) that is declared.",
          "Functionalization does not see the write.", _dropped(_registered)),
    _kind("registered-with-write", "The schema that is registered has an (a!) that is not declared.",
          "The graph copies the argument for nothing.", _added(_registered)),
    _kind("registered-type", "An argument is registered with another host type.",
          "Values are converted on the way in; sizes become fixed numbers.", _other_type),
    _kind("registered-optional", "A tensor is registered as optional, or an optional one as required.",
          "Legal calls are refused, or illegal ones reach the kernel.", _optional_flipped),
    _kind("registered-default", "A default is registered with another value.",
          "Calls that leave the argument out compute something else.", _default),
    _kind("registered-order", "Two arguments are registered in the opposite order.",
          "Positional calls pass each value to the other argument.", _order),
    _kind("registered-keyword-only", "A positional argument is registered as keyword-only.",
          "Positional calls are refused.", _keyword_only),
)  # fmt: skip
