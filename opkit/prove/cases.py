"""The inputs of a proof: the cases a YAML entry names, or cases made from its schema.

A made case tries to give every argument something that nothing else has, so that swapped inputs, swapped
attributes and dropped dimensions show. Whether an operator accepts that is only known by asking its Meta
kernel, so a made case is a list of alternatives: the first that the Meta kernel accepts is used.
"""

from __future__ import annotations

from dataclasses import dataclass

from opkit.model.operator import Case, CaseValue, OpSpec, TensorSpec
from opkit.model.schema import Argument, BaseType, ListType, OptionalType, Type, base_of, is_tensor_like

# Odd, so that a wrong division or a wrong pairing of dims shows; all different from the dims that stay fixed.
_SIZES = (5, 9, 13)
_FIXED = 7


@dataclass(frozen=True)
class Candidate:
    """One case under its report name, with what to try next when the Meta kernel refuses it."""

    name: str
    # (what this alternative is, the case); at least one.
    alternatives: tuple[tuple[str, Case], ...]


@dataclass(frozen=True)
class NoCase:
    """No case can be made; the reason says what the YAML must give."""

    name: str
    reason: str


def candidates(spec: OpSpec) -> tuple[Candidate | NoCase, ...]:
    """List the cases of an operator: the YAML's, or made ones with every optional given and omitted."""
    if spec.cases:
        return tuple(Candidate(case.name, (("as written", case),)) for case in spec.cases)
    impossible = [a.name for a in spec.schema.arguments if not _can_make(a)]
    if impossible:
        names = ", ".join(f"`{name}`" for name in impossible)
        return (NoCase("default", f"because opkit cannot invent a value for {names}; write `cases:`"),)
    optional = [a for a in spec.schema.arguments if a.is_optional]
    if not optional:
        return (_candidate(spec, "default", given=True),)
    return (_candidate(spec, "optionals given", given=True), _candidate(spec, "optionals None", given=False))


def chosen_case(spec: OpSpec) -> str:
    """Name the case with which an operator is put into models: the first, without `call:` if it can be."""
    found = [c for c in candidates(spec) if isinstance(c, Candidate) and not c.alternatives[0][1].raises]
    bare = [c for c in found if c.alternatives[0][1].call is None]
    return (bare or found)[0].name if found else ""


def _candidate(spec: OpSpec, name: str, given: bool) -> Candidate:
    alternatives = [
        (
            "every tensor with a shape of its own",
            _Maker(spec, name, given, distinct=True, defaults=False).case(),
        ),
        ("all tensors of one shape", _Maker(spec, name, given, distinct=False, defaults=False).case()),
        (
            "all tensors of one shape, host values as the schema's defaults",
            _Maker(spec, name, given, distinct=False, defaults=True).case(),
        ),
    ]
    unique: list[tuple[str, Case]] = []
    for what, case in alternatives:
        if all(_sized(case) != _sized(other) for _, other in unique):
            unique.append((what, case))
    return Candidate(name, tuple(unique))


def _sized(case: Case) -> object:
    """Give what the case passes, with sizes for the names of dims."""
    dims = dict(case.dims)

    def sized(value: CaseValue) -> object:
        if isinstance(value, TensorSpec):
            return value.dtype, tuple(
                dims.get(dim, dim) if isinstance(dim, str) else dim for dim in value.dims
            )
        return tuple(map(sized, value)) if isinstance(value, tuple) else value

    return [(name, sized(value)) for name, value in case.inputs]


def shown(case: Case) -> dict[str, object]:
    """Give a case's inputs as JSON values: a tensor as its text, a named dim with its sizes."""

    def one(value: CaseValue) -> object:
        if isinstance(value, TensorSpec):
            return str(value)
        return [one(item) for item in value] if isinstance(value, tuple) else value

    dims = {name: list(values) for name, values in case.dims}
    call = {} if case.call is None else {"call": str(case.call)}
    return {**{name: one(value) for name, value in case.inputs}, **dims, **call}


# Types opkit has no business inventing a value for: a device or a generator means something outside the call.
_INVENTED = {"Tensor", "int", "SymInt", "float", "bool", "Scalar", "ScalarType"}


def _can_make(argument: Argument) -> bool:
    if argument.is_optional or argument.default is not None:
        return True
    return base_of(argument.type).name in _INVENTED


class _Maker:
    """Makes one case; counts so that no two arguments get the same value."""

    def __init__(self, spec: OpSpec, name: str, given: bool, distinct: bool, defaults: bool) -> None:
        self.spec, self.name, self.given, self.distinct, self.defaults = spec, name, given, distinct, defaults
        self.tensors = 0
        self.numbers = 0
        self.dims: dict[str, tuple[int, ...]] = {}

    def case(self) -> Case:
        inputs = []
        for argument in self.spec.schema.arguments:
            made, value = self._argument(argument)
            if made:
                inputs.append((argument.name, value))
        return Case(self.name, tuple(inputs), tuple(self.dims.items()))

    def _argument(self, argument: Argument) -> tuple[bool, CaseValue]:
        """Give (whether the argument is passed at all, its value)."""
        base = base_of(argument.type).name
        if argument.is_optional and not self.given:
            return True, None
        if base not in _INVENTED or (
            self.defaults and not is_tensor_like(argument.type) and argument.default
        ):
            # Passing None where there is no default keeps an optional argument legal.
            return argument.default is None, None
        value = self._value(argument.type)
        if isinstance(value, bool) and argument.default is not None:
            value = not argument.default.value
        return True, value

    def _value(self, type_: Type) -> CaseValue:
        if isinstance(type_, OptionalType):
            return self._value(type_.element)
        if isinstance(type_, ListType):
            return tuple(self._value(type_.element) for _ in range(type_.size or 2))
        return self._scalar(type_)

    def _scalar(self, type_: BaseType) -> CaseValue:
        if type_.name == "Tensor":
            return self._tensor()
        if type_.name == "bool":
            return True
        if type_.name == "ScalarType":
            return "float16"
        self.numbers += 1
        # No made number equals a usual default (0, 1, 1e-5, ...), and all are exact in float32.
        return self.numbers + 2 if type_.name in ("int", "SymInt") else self.numbers + 0.25

    def _tensor(self) -> TensorSpec:
        if not self.distinct:
            self.dims["B"] = _SIZES
            return TensorSpec("float16", ("B", _FIXED))
        index = self.tensors
        self.tensors += 1
        name = f"B{index}"
        # Every tensor has sizes and a last dim of its own.
        self.dims[name] = tuple(size + 14 * index for size in _SIZES)
        return TensorSpec("float16", (name, _FIXED + 14 * index))
