"""Turns a case into the arguments of a call: tensors with values that differ, and host values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from opkit.errors import OpkitError
from opkit.model.operator import Case, CaseValue, TensorSpec
from opkit.model.schema import Argument, BaseType, OperatorSchema, base_of

# Where a tensor stands in a call: the argument's name, and the position in a list or None.
Path = tuple[str, "int | None"]


@dataclass
class Inputs:
    """The arguments of one call, by name, in the schema's order; arguments left out take their default."""

    schema: OperatorSchema
    values: dict[str, Any]
    # Arguments whose tensors stay on the CPU.
    host: frozenset[str] = frozenset()

    def tensors(self) -> Iterator[tuple[Path, Any]]:
        """List every tensor with its place, in the order of the call."""
        import torch

        for name, value in self.values.items():
            if isinstance(value, torch.Tensor):
                yield (name, None), value
            elif isinstance(value, list):
                for index, item in enumerate(value):
                    if isinstance(item, torch.Tensor):
                        yield (name, index), item

    def map(self, function: Callable[[Any], Any]) -> Inputs:
        """Apply a function to every tensor."""
        import torch

        def one(value: Any) -> Any:
            if isinstance(value, list):
                return [one(item) for item in value]
            return function(value) if isinstance(value, torch.Tensor) else value

        return replace(self, values={name: one(value) for name, value in self.values.items()})

    def call(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Give (positional, keyword) arguments; what the case left out at the end is not passed at all."""
        positional: list[Any] = []
        names = [a.name for a in self.schema.positional]
        last = max((i for i, name in enumerate(names) if name in self.values), default=-1)
        for argument in self.schema.positional[: last + 1]:
            if argument.name in self.values:
                positional.append(self.values[argument.name])
            elif argument.default is not None:
                positional.append(_default(argument))
            else:
                raise OpkitError(f"the case gives no value for `{argument.name}`", "add it to the case")
        keyword = {a.name: self.values[a.name] for a in self.schema.keyword_only if a.name in self.values}
        return tuple(positional), keyword

    def full(self) -> dict[str, Any]:
        """Give every argument by name, with the schema's default where the case gives none."""
        return {
            a.name: self.values[a.name] if a.name in self.values else _default(a)
            for a in self.schema.arguments
        }

    def full_call(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Give (positional, keyword) arguments with every default filled in, as a reference wants them."""
        values = self.full()
        keyword = {a.name: values[a.name] for a in self.schema.keyword_only}
        return tuple(values[a.name] for a in self.schema.positional), keyword

    def copy_from(self, other: Inputs) -> None:
        """Write the values of `other` into these tensors, in place: the memory stays the same."""
        for (_, mine), (_, theirs) in zip(self.tensors(), other.tensors()):
            mine.copy_(theirs)


def _default(argument: Argument) -> Any:
    """Give an argument's default as a Python function gets it: a list, and a dtype for its number."""
    from opkit.prove.signature import scalar_type

    value = None if argument.default is None else argument.default.value
    if isinstance(value, int) and base_of(argument.type).name == "ScalarType":
        return scalar_type(value)
    return list(value) if isinstance(value, tuple) else value


def sizes(case: Case) -> int:
    """Tell how many sets of sizes a case has: at least one."""
    return max((len(values) for _, values in case.dims), default=1)


def ordinary_sizes(case: Case) -> list[int]:
    """List the sets of sizes without a dim of 0 or 1, for which torch always compiles anew."""
    return [
        size
        for size in range(sizes(case))
        if all(values[min(size, len(values) - 1)] > 1 for _, values in case.dims)
    ]


def dtype_sets(case: Case) -> int:
    """Tell how many sets of dtypes a case has: at least one."""
    return max((len(names) for _, names in case.dtypes), default=1)


def size_order(case: Case) -> tuple[list[int], int]:
    """Order the sets of sizes, those with a dim of 0 or 1 last; tell how many come before those."""
    first = ordinary_sizes(case)
    return first + [size for size in range(sizes(case)) if size not in first], len(first)


@dataclass(frozen=True)
class Contents:
    """What the elements of made tensors are; contents that the case writes stay as they are."""

    seed: int = 0
    # Whether floating-point numbers, int8 and int16 are negative too. Wider integers never are: they may be
    # indices or lengths.
    signed: bool = True
    # Multiplies floating-point numbers.
    scale: float = 1.0


def inputs(
    schema: OperatorSchema, case: Case, size: int = 0, contents: Contents = Contents(), dtype: int = 0
) -> Inputs:
    """Make the call's arguments on the CPU with the size-th set of sizes and the dtype-th of dtypes.

    Raises OpkitError when the case names a dim it does not bind or a dtype torch does not have.
    """
    import torch

    dims = {name: values[min(size, len(values) - 1)] for name, values in case.dims}
    dtypes = {name: names[min(dtype, len(names) - 1)] for name, names in case.dtypes}
    given = dict(case.inputs)
    generator = torch.Generator().manual_seed(1000 * contents.seed + 17 * size + 1)
    made = {}
    for argument in schema.arguments:
        if argument.name in given:
            base = base_of(argument.type)
            value = given[argument.name] if not dtypes else _with_dtypes(given[argument.name], dtypes)
            made[argument.name] = _value(value, base, dims, _Source(generator, contents))
    host = (name for name, value in case.inputs if isinstance(value, TensorSpec) and value.on_host)
    return Inputs(schema, made, frozenset(host))


def _with_dtypes(value: CaseValue, dtypes: Mapping[str, str]) -> CaseValue:
    """Put dtypes in the place of the case's names for them."""
    if isinstance(value, tuple):
        return tuple(_with_dtypes(item, dtypes) for item in value)
    if isinstance(value, TensorSpec):
        return replace(value, dtype=dtypes.get(value.dtype, value.dtype))
    return value


def _value(value: CaseValue, base: BaseType, dims: dict[str, int], source: _Source) -> Any:
    import torch

    if isinstance(value, tuple):
        return [_value(item, base, dims, source) for item in value]
    if isinstance(value, TensorSpec):
        return _tensor(value, dims, source)
    if isinstance(value, str):
        if value in dims and base.name in ("int", "SymInt"):
            return dims[value]
        if base.name == "ScalarType":
            return _dtype(value)
        if base.name == "Device":
            return torch.device(value)
    return value


def _dtype(name: str) -> Any:
    import torch

    dtype = getattr(torch, name.removeprefix("torch."), None)
    if not isinstance(dtype, torch.dtype):
        raise OpkitError(f"torch has no dtype {name!r}", "use a name such as float16, bfloat16, int8")
    return dtype


def _tensor(spec: TensorSpec, dims: dict[str, int], source: _Source) -> Any:
    import torch

    shape = []
    for dim in spec.dims:
        if isinstance(dim, str) and dim not in dims:
            raise OpkitError(f"the case uses the dim {dim!r} but gives it no size", f"add `{dim}: [4, 3, 7]`")
        shape.append(dims[dim] if isinstance(dim, str) else dim)
    dtype = _dtype(spec.dtype)
    if spec.values:
        if len(spec.values) != math.prod(shape):
            raise OpkitError(f"the case gives {len(spec.values)} values for `{spec}`", "give one per element")
        return torch.tensor(spec.values, dtype=torch.float64).reshape(shape).to(dtype)
    return source.tensor(shape, dtype)


# Drawing is slow, a cache of millions of elements takes seconds. A prime, so that no two rows are the same.
_PERIOD = 65521


@dataclass(frozen=True)
class _Source:
    """Draws the elements of tensors."""

    # torch.Generator
    generator: Any
    contents: Contents

    def tensor(self, shape: list[int], dtype: Any) -> Any:
        """Draw a tensor; the elements of a large one come again and again."""
        count = math.prod(shape)
        if count <= _PERIOD:
            return self._drawn(shape, dtype)
        again = self._drawn([_PERIOD], dtype).repeat(-(-count // _PERIOD))
        # The copy has the memory of this tensor only.
        return again[:count].clone().reshape(shape)

    def _drawn(self, shape: list[int], dtype: Any) -> Any:
        import torch

        if dtype is torch.bool:
            return torch.rand(shape, generator=self.generator) > 0.5
        if not dtype.is_floating_point and not dtype.is_complex:
            # Small, so that they are also legal as indices, lengths and int4 pairs.
            lowest = -2 if self.contents.signed and dtype in (torch.int8, torch.int16) else 0
            return torch.randint(lowest, 3, shape, generator=self.generator).to(dtype)
        # Away from zero, so that a write always shows; never integers, so that a lost cast shows.
        size = torch.rand(shape, generator=self.generator) + 0.25
        if self.contents.signed and dtype not in _unsigned_floats():
            size *= torch.randint(0, 2, shape, generator=self.generator) * 2 - 1
        return (size * self.contents.scale).to(dtype)


def _unsigned_floats() -> set[Any]:
    """List the floating-point dtypes without a sign; torch before 2.7 has none."""
    import torch

    return {getattr(torch, "float8_e8m0fnu", None)}
