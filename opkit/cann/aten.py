"""aten operators on NPU tensors compute: kernels that run torch's own CPU kernels on the same memory.

torch_npu's kernels for these operators launch aclnn kernels, which the stand-in can only record. Here each
operator that torch_npu implements and that the CPU can compute gets a kernel in Python instead. Left to
torch_npu are
- views, allocation, resizing and copies between devices, which need no kernel or one that the stand-in has;
- `item()`: it copies to the host and waits, which must be refused during capture as on the device;
- operators that torch_npu does not implement: it runs them on the host, copying there and back, and that must
  be refused during capture, too.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any

from opkit.cann.aten_call import INDEXED, AtenOperator, Call, aten_operator, waits
from opkit.cann.aten_functions import HOST_FUNCTIONS
from opkit.cann.library import standin
from opkit.cann.operators import fill_defaults, with_kernel
from opkit.cann.views import has_plain_format, map_tensors, tensors_in

if TYPE_CHECKING:
    import torch

# What torch_npu keeps although the CPU has a kernel, without overload. Views are found by their schema.
_KEPT = frozenset(
    (
        "_copy_from", "_copy_from_and_resize", "_fused_sdp_choice", "_lazy_clone", "_local_scalar_dense",
        "_pin_memory", "_reshape_copy", "_resize_output", "_resize_output_", "_to_copy", "clone",
        "contiguous", "copy_", "empty", "empty_like", "empty_permuted", "empty_quantized", "empty_strided",
        "is_pinned", "is_set_to", "new_empty", "new_empty_strided", "pin_memory", "record_stream", "resize",
        "resize_", "resize_as_", "set_", "to_padded_tensor",
    )
)  # fmt: skip

_library: Any = None  # torch.library.Library: the kernels live as long as it does


def install_aten_kernels() -> int:
    """Registers the kernels, once in a process, and returns how many operators have one.

    torch_npu must be imported.
    Raises OpkitError on real CANN, where a real kernel must never be replaced.
    """
    import torch

    global _library
    standin()
    names = _computable()
    if _library is None:
        library = torch.library.Library("aten", "IMPL")
        implement = (
            library.m.impl
        )  # Library.impl itself costs four times as much for checks that cannot fail here
        for name in names:
            implement(name.removeprefix("aten::"), "PrivateUse1", functools.partial(_call, name))
        for name in _ABOVE:
            kernel = functools.partial(_call, name)
            implement(name.removeprefix("aten::"), "AutogradPrivateUse1", kernel)
        get_kernel = getattr(torch.library, "get_kernel", None)  # since torch 2.9
        if get_kernel is not None:
            for name in _NAMED:
                named = _named(name, get_kernel(name, "PrivateUse1"))
                implement(name.removeprefix("aten::"), "PrivateUse1", named, True)
        _library = library
    return len(names)


# torch_npu's kernels for these stand above the others, where gradients are recorded, and launch from there.
_ABOVE = ("aten::one_hot",)


@functools.cache
def _computable() -> tuple[str, ...]:
    import torch

    has_computed = torch._C._dispatch_has_computed_kernel_for_dispatch_key
    own = frozenset(with_kernel("CPU"))  # most of them: the last question is slow
    return tuple(
        name
        for name in with_npu_kernel()
        if name.startswith("aten::")
        and name.removeprefix("aten::").partition(".")[0] not in _KEPT
        and (name in HOST_FUNCTIONS or name in own or has_computed(name, "CPU"))
        and not _is_view(name)
    )


@functools.cache
def with_npu_kernel() -> tuple[str, ...]:
    """The operators that torch_npu implements."""
    return tuple(with_kernel("PrivateUse1"))


def uncomputed_operators() -> list[str]:
    """The operators that only torch_npu's kernels implement: these launch what nobody computes."""
    computed = frozenset(_computable())
    return [
        name
        for name in with_npu_kernel()
        if name.startswith("aten::")
        and name not in computed
        and name.removeprefix("aten::").partition(".")[0] not in _KEPT
        and _is_defined(name)
        and not _is_view(name)
    ]


def _is_defined(name: str) -> bool:
    """Whether an operator has a schema: torch_npu registers kernels for undefined ones, too."""
    return bool(_schema(name))


@functools.cache
def _schema(name: str) -> str:
    import torch

    base, _, overload = name.partition(".")
    try:
        return str(torch._C._get_schema(base, overload))
    except RuntimeError:
        return ""


# Of those that torch_npu keeps, the ones that may wait for the device: a refusal names them. The copies among
# them would launch a kernel for the conjugate of a lazily conjugated tensor.
_NAMED = ("aten::_local_scalar_dense", "aten::copy_", "aten::clone", "aten::contiguous")


def _named(name: str, host: Any) -> Any:
    library = standin()

    def kernel(keyset: Any, *args: Any, **kwargs: Any) -> Any:
        if name == "aten::copy_" and args[0].is_conj():
            args[0].conj().copy_(args[1].conj(), *args[2:])
            return args[0]
        # What is written comes first in a copy, and has no lazy conjugate by now.
        args = tuple(_conjugated(value) for value in args)
        if name == "aten::copy_" and _within_device(*args[:2]):
            return _call(name, *args, **kwargs)
        with library.operator(name):
            return host.call_boxed(keyset, *args, **kwargs)

    return kernel


def _within_device(target: torch.Tensor, source: torch.Tensor) -> bool:
    """Whether a copy is computed here: torch_npu's kernel loses the GIL if Python called it and it raises."""
    return target.device == source.device and has_plain_format(target) and has_plain_format(source)


def _conjugated(value: Any) -> Any:
    """A lazily conjugated tensor with its values conjugated; anything else as it is."""
    import torch

    if not isinstance(value, torch.Tensor) or not value.is_conj():
        return value
    plain = value.conj()
    return torch.complex(plain.real, plain.imag.neg())


def _is_view(name: str) -> bool:
    """Whether an operator returns views, or makes its argument another view, as `t_` and `as_strided_` do."""
    import torch

    base, _, overload = name.partition(".")
    if base.endswith("_"):
        _, _, tags = torch._C._get_operation_overload(base, overload)
        if torch.Tag.inplace_view in tags:
            return True
    return bool(_VIEWED.search(_schema(name)))


_VIEWED = re.compile(r"(?<=[ (])Tensor\([^!)]*\)")  # an alias that is not written


def _call(name: str, *args: Any, **kwargs: Any) -> Any:
    """The kernel of every operator."""
    import torch

    operator = aten_operator(name)
    positional, keywords = fill_defaults(operator.overload, args, kwargs)
    if name == "aten::_foreach_copy_" and any(t.device.type != "npu" for t in tensors_in(positional)):
        for target, source in zip(positional[0], positional[1]):
            target.copy_(source, positional[2])
        return None
    place = _place(operator, positional, keywords)
    positional = [_on_device(operator, value, place) for value in positional]
    if waits(operator, positional, keywords):
        with standin().operator(name):
            torch.npu.current_stream(place).synchronize()
    return Call(operator, positional, keywords, place).run()


def _place(operator: AtenOperator, args: list[Any], kwargs: dict[str, Any]) -> torch.device:
    """The device of the call. Raises RuntimeError for tensors on different devices, as every device does."""
    import torch

    tensors = [*tensors_in(args), *tensors_in(kwargs)]
    places = {tensor.device: None for tensor in tensors if tensor.device.type != "cpu" or tensor.dim()}
    if operator.overload._overloadpacket.__name__ in INDEXED:
        places = {found: None for found in places if found.type != "cpu"}
    if len(places) > 1:
        raise RuntimeError(
            f"{operator.name}: Expected all tensors to be on the same device, but found "
            + " and ".join(str(found) for found in places)
        )
    if places:
        return next(iter(places))
    asked = kwargs.get("device")
    if isinstance(asked, torch.device) and asked.index is not None:
        return asked
    return torch.device("npu", torch.npu.current_device())


def _on_device(operator: AtenOperator, value: Any, place: torch.device) -> Any:
    """Index tensors of the host moved to the device, through torch_npu's own copy, which capture refuses."""
    if operator.overload._overloadpacket.__name__ not in INDEXED:
        return value
    return map_tensors(value, lambda t: t.to(place) if t.device.type == "cpu" and t.dim() else t)
