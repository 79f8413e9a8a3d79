"""Marks on NPU memory whose values nobody computed, and on what derives from it.

A mark names the launch the values come from. torch's allocator hands memory out again without telling the
runtime, so a mark is no property of an address: each task that writes memory sets its mark anew.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from opkit.cann.library import standin

if TYPE_CHECKING:
    import torch


class UncomputedWarning(UserWarning):
    """Values went to the host that the stand-in did not compute: they mean nothing."""


def uncomputed_source(tensor: torch.Tensor) -> str | None:
    """The launch from which an NPU tensor's values come that nobody computed; None if there is none.

    Also for values derived from such a launch by operators that are computed.
    """
    if tensor.device.type != "npu":
        return None
    start, nbytes = extent(tensor)
    return standin().taint_of(start, nbytes) or None


def mark_uncomputed(tensor: torch.Tensor, source: str) -> None:
    """Marks the memory of an NPU tensor, from its first to its last element."""
    standin().taint(*extent(tensor), source)


def extent(tensor: torch.Tensor) -> tuple[int, int]:
    """The address and the number of bytes from the first to the last element of a tensor."""
    if tensor.numel() == 0:
        return 0, 0
    last = sum((size - 1) * stride for size, stride in zip(tensor.size(), tensor.stride()))
    return tensor.data_ptr(), (last + 1) * tensor.element_size()


def is_dense(tensor: torch.Tensor) -> bool:
    """Whether a tensor leaves out no element between its first and its last."""
    return bool(extent(tensor)[1] == tensor.numel() * tensor.element_size())


def install_warnings() -> None:
    """Warns when values that nobody computed are copied to the host, and prints none of them."""
    import torch._tensor_str as printing

    standin().set_uncomputed_reader(_warn)
    plain = printing._str

    def text(tensor: torch.Tensor, *, tensor_contents: Any = None) -> str:
        source = uncomputed_source(tensor) if tensor_contents is None and _has_memory(tensor) else None
        if source is None:
            return str(plain(tensor, tensor_contents=tensor_contents))
        size = tuple(tensor.size())
        return (
            f"tensor(<not computed: {source}>, device='{tensor.device}', size={size}, dtype={tensor.dtype})"
        )

    if not hasattr(plain, "_opkit"):
        text._opkit = True  # type: ignore[attr-defined]
        printing._str = text


def _has_memory(tensor: torch.Tensor) -> bool:
    import torch

    kinds = (torch.Tensor, torch.nn.Parameter)
    return bool(type(tensor) in kinds and tensor.device.type == "npu" and tensor.layout is torch.strided)


def _warn(source: str) -> None:
    warnings.warn(
        f"values of {source} are copied to the host, but the stand-in does not compute it: they mean nothing",
        UncomputedWarning,
        stacklevel=1,
    )
