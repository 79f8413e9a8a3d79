"""Casts on a value's way through a GE graph: which of them leave it as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opkit.cann.ge_dtypes import GeDtype, from_number
from opkit.cann.ge_graph import CONTROL, Edge, GeGraph
from opkit.errors import OpkitError

if TYPE_CHECKING:
    import torch

# Nodes that hand on the value of their first input.
TRANSPARENT = ("TensorMove", "Identity", "Cast")
# Nodes whose output's dtype is known from the graph.
_DESCRIBED = ("Data", "RefData", "Const")


def problem(graph: GeGraph, edge: Edge | None, compared: bool) -> str:
    """Say which cast on the way to this edge changes the value, or "".

    A cast to a dtype that holds every value is none. One to a smaller dtype that stays, such as int64 to
    int32 for indices, is the converter's choice if `compared`: the results are compared with a reference.
    """
    dtypes = _chain(graph, edge)
    lossy = next(((old, new) for old, new in zip(dtypes, dtypes[1:]) if not _holds(new, old)), None)
    if lossy is None:
        return ""
    old, new = (dtype.torch_name or dtype.name for dtype in lossy)
    text = f"a cast from {old} to {new}"
    if dtypes[-1] == dtypes[0]:
        return f"{text} and back, which changes it"
    if _is_float(lossy[0]) and not _is_float(lossy[1]):
        return f"{text}, which loses the fraction"
    return "" if compared else f"{text}, which may change it; name a `reference:` that shows it does not"


def _chain(graph: GeGraph, edge: Edge | None) -> list[GeDtype]:
    """List the dtypes a value has on its way to this edge, from the node on that made it."""
    dtypes: list[GeDtype] = []
    while edge is not None and edge.index != CONTROL:
        node = graph.node(edge.node)
        if node.type not in TRANSPARENT or not node.inputs:
            # torchair describes only what FX sees: what a converter casts is taken to be what leaves.
            known = node.type in _DESCRIBED and node.outputs
            dtypes[:0] = [node.outputs[edge.index].dtype] if known else dtypes[-1:]
            break
        target = node.attrs.get("dst_type")
        if node.type == "Cast" and isinstance(target, int):
            dtypes.insert(0, from_number(target))
        edge = node.inputs[0].source
    return dtypes


def _holds(wide: GeDtype, narrow: GeDtype) -> bool:
    """Whether every value of one dtype is also one of the other."""
    if wide == narrow:
        return True
    try:
        return _is_subset(narrow.torch(), wide.torch())
    except (OpkitError, TypeError):  # torch does not know the type, or not its range
        return False


def _is_subset(narrow: torch.dtype, wide: torch.dtype) -> bool:
    import torch

    if narrow is torch.bool:
        return True
    if wide is torch.bool or (narrow.is_complex and not wide.is_complex):
        return False
    if narrow.is_floating_point or narrow.is_complex:
        if not (wide.is_floating_point or wide.is_complex):
            return False
        small, large = torch.finfo(narrow), torch.finfo(wide)
        return bool(small.max <= large.max and small.eps >= large.eps and small.tiny >= large.tiny)
    small_range = torch.iinfo(narrow)
    if wide.is_floating_point or wide.is_complex:
        return bool(small_range.max <= 2 / torch.finfo(wide).eps and small_range.max <= torch.finfo(wide).max)
    large_range = torch.iinfo(wide)
    return bool(small_range.max <= large_range.max and small_range.min >= large_range.min)


def _is_float(dtype: GeDtype) -> bool:
    # What torch has no dtype for, GE's own 8-bit floats, counts as it is called.
    return dtype.name.startswith(("DT_FLOAT", "DT_BF16", "DT_DOUBLE", "DT_HIFLOAT", "DT_COMPLEX"))
