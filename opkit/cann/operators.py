"""Operators as the dispatcher knows them: their names, full arguments and Meta kernels."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from opkit.cann.views import map_tensors
from opkit.errors import OpkitError

if TYPE_CHECKING:
    import torch


def find_operator(name: str) -> Any:
    """The OpOverload called "ns::op" or "ns::op.overload". Raises OpkitError if it is not defined."""
    import torch

    namespace, separator, short = name.partition("::")
    base, _, overload = short.partition(".")
    if not separator or not base:
        raise OpkitError(
            f'"{name}" is not an operator name', 'write it as "namespace::operator" or with ".overload"'
        )
    try:
        return getattr(getattr(getattr(torch.ops, namespace), base), overload or "default")
    except AttributeError:
        raise OpkitError(
            f"the operator {name} is not defined", "import the module that defines it first"
        ) from None


def with_kernel(key: str) -> list[str]:
    """The names of all operators that have a kernel for a dispatch key: asking for each would be slow."""
    import torch

    return sorted(torch._C._dispatch_get_registrations_for_dispatch_key(key))


def operator_name(operator: Any) -> str:
    """The name under which the dispatcher knows an OpOverload; the overload "default" is not written."""
    name: str = operator.name()
    return name


def fill_defaults(
    operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Positional and keyword-only arguments in full: the dispatcher drops those that equal their default."""
    positional = list(args)
    keywords = dict(kwargs)
    for index, (name, kwarg_only, default) in enumerate(_defaults(operator)):
        if kwarg_only:
            keywords.setdefault(name, default)
        elif index >= len(positional):
            positional.append(keywords.pop(name, default))
    return positional, keywords


@functools.cache
def _defaults(operator: Any) -> tuple[tuple[str, bool, Any], ...]:
    """Name, keyword-only and default of each argument: reading them from the schema is slow."""
    return tuple((item.name, item.kwarg_only, item.default_value) for item in operator._schema.arguments)


def is_written(declared: Any) -> bool:
    """Whether a schema argument or result is annotated as written: `(a!)`."""
    return declared.alias_info is not None and declared.alias_info.is_write


def mutated_arguments(operator: Any, args: list[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The values of the arguments that the schema marks as written, by name."""
    values = {}
    for index, argument in enumerate(operator._schema.arguments):
        if is_written(argument):
            values[argument.name] = kwargs[argument.name] if argument.kwarg_only else args[index]
    return values


def aliased_argument(operator: Any, result: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """The value of the argument that a result with `(a!)` stands for."""
    for index, argument in enumerate(operator._schema.arguments):
        if is_written(argument) and argument.alias_info.before_set & result.alias_info.before_set:
            return kwargs[argument.name] if argument.kwarg_only else args[index]
    raise OpkitError(f"{operator.name()}: no argument has the alias set of its result")


def meta_like(tensor: torch.Tensor) -> torch.Tensor:
    """A meta tensor with the sizes, strides and dtype of `tensor`."""
    import torch

    return torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype, device="meta")


def call_meta(operator: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Calls the Meta kernel on arguments of the same sizes. NotImplementedError if there is none."""
    import torch

    def to_meta(value: Any) -> Any:
        return torch.device("meta") if isinstance(value, torch.device) else map_tensors(value, meta_like)

    return operator(
        *[to_meta(value) for value in args], **{key: to_meta(value) for key, value in kwargs.items()}
    )


def describe_outputs(operator: Any, args: list[Any], kwargs: dict[str, Any]) -> list[Any]:
    """What the Meta kernel says: one meta tensor, list of them, or None for each result of the schema.

    Raises OpkitError if the operator has results and no Meta kernel, or one that gives another number of
    results than the schema.
    """
    try:
        result = call_meta(operator, args, kwargs)
    except NotImplementedError as error:
        if not operator._schema.returns:
            return []
        raise OpkitError(
            f"{operator.name()} has no Meta kernel, so its outputs cannot be allocated: {first_line(error)}",
            "register a Meta kernel before the operator is called",
        ) from error
    results = as_results(result, len(operator._schema.returns))
    if results is None:
        raise OpkitError(
            f"the Meta kernel of {operator.name()} gave {describe(result)}, the schema has "
            f"{len(operator._schema.returns)} results"
        )
    return results


def as_results(value: Any, count: int) -> list[Any] | None:
    """What a function returned, as one item for each of `count` results; None if it does not fit."""
    if count == 0:
        return [] if value is None or value == () else None
    if count == 1:
        # One result that is a list (Tensor[]) is itself a list; a tuple of one is unwrapped.
        return [value[0]] if isinstance(value, tuple) and len(value) == 1 else [value]
    return list(value) if isinstance(value, (list, tuple)) and len(value) == count else None


def describe(value: Any) -> str:
    """dtype and shape of a tensor (or of each in a list), or the type of anything else."""
    import torch

    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).rpartition('.')[2]}{list(value.size())}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(describe(item) for item in value)}]"
    return "None" if value is None else type(value).__name__


def first_line(error: BaseException) -> str:
    """The first line of an error's text, for quoting in another message."""
    return (str(error) or type(error).__name__).splitlines()[0]
