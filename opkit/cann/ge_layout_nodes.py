"""The standard Ascend IR nodes that move data: shapes, slices, gathers, scatters and in-place writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opkit.cann.ge_dtypes import from_number
from opkit.cann.ge_nn_nodes import NETWORK
from opkit.cann.ge_nodes import MATH, Compute, NodeCall
from opkit.cann.views import POISON, fill_bytes
from opkit.errors import OpkitError

if TYPE_CHECKING:
    import torch


def _shape(call: NodeCall) -> Any:
    import torch

    return torch.tensor(list(call["x"].size()), dtype=from_number(int(call.attr("dtype", 3))).torch())


def _reshape(call: NodeCall) -> Any:
    call.expect("axis", 0, default=0)
    call.expect("num_axes", -1, default=-1)
    return call["x"].view(call.ints("shape"))


def _squeeze(call: NodeCall) -> Any:
    x, axes = call["x"], call.attr("axis", [])
    return x.squeeze(tuple(axes)) if axes else x.squeeze()


def _unsqueeze(call: NodeCall) -> Any:
    x, axes = call["x"], call.attr("axes", [])
    rank = x.dim() + len(axes)
    for axis in sorted(axis % rank for axis in axes):
        x = x.unsqueeze(axis)
    return x


def _flatten(call: NodeCall) -> Any:
    return call["x"].flatten(call.attr("axis", 1), call.attr("end_axis", -1))


def _bitcast(call: NodeCall) -> Any:
    call.expect("keep_dim", False, default=False)
    x, dtype = call["x"], call.dtype("type")
    # GE adds or drops a last dim when the element sizes differ; torch folds it into the last dim.
    ratio = x.element_size() / dtype.itemsize
    if ratio == 1:
        return x.view(dtype)
    if ratio > 1:
        return x.unsqueeze(-1).view(dtype)
    return x.view(dtype).squeeze(-1)


def _gather(call: NodeCall) -> Any:
    call.expect("batch_dims", 0, default=0)
    x, indices = call["x"], call["indices"]
    axis = int(call["axis"].item()) if call.node.type == "GatherV2" else 0
    flat = indices.flatten().long()
    if call.attr("negative_index_support", False):
        size = x.size(axis)
        flat = flat.where(flat >= 0, flat + size)
    axis %= max(x.dim(), 1)
    return x.index_select(axis, flat).reshape([*x.size()[:axis], *indices.size(), *x.size()[axis + 1 :]])


def _index(call: NodeCall) -> Any:
    return call["x"][_index_tuple(call)]


def _index_tuple(call: NodeCall) -> tuple[Any, ...]:
    """Torch's index for indices given for the dims that a mask selects."""
    mask = call.attr("indices_mask") if call.node.type == "IndexByTensor" else call.ints("indexed_sizes")
    indices = call.many("indices")
    places = iter([item if _is_bool(item) else item.long() for item in indices])
    return tuple(next(places) if bit else slice(None) for bit in (mask or [1] * len(indices)))


def _is_bool(tensor: torch.Tensor) -> bool:
    import torch

    return tensor.dtype is torch.bool


def _index_put(call: NodeCall) -> Any:
    x = call["x"]
    x.index_put_(_as_indices(x, _index_tuple(call)), call["value"], bool(call.attr("accumulate", False)))
    return x


def _as_indices(x: torch.Tensor, index: tuple[Any, ...]) -> list[torch.Tensor | None]:
    return [None if isinstance(item, slice) else item for item in index]


def _concat(call: NodeCall) -> Any:
    import torch

    dim = call.required("concat_dim") if call.node.type == "ConcatD" else int(call["concat_dim"].item())
    return torch.cat(call.many("x"), dim)


def _pack(call: NodeCall) -> Any:
    import torch

    return torch.stack(call.many("x"), call.attr("axis", 0))


def _split(call: NodeCall) -> Any:
    x, kind = call["x"], call.node.type
    as_attr = kind.endswith("D")
    dim = int(call.required("split_dim") if as_attr else call["split_dim"].item())
    if kind in ("SplitV", "SplitVD"):
        sizes = list(call.required("size_splits")) if as_attr else call.ints("size_splits")
        if -1 in sizes:
            sizes[sizes.index(-1)] = x.size(dim) - sum(size for size in sizes if size >= 0)
    else:
        count = int(call.required("num_split"))
        sizes = [x.size(dim) // count] * count
    return list(x.split(sizes, dim))


def _unpack(call: NodeCall) -> Any:
    return list(call["x"].unbind(call.attr("axis", 0)))


def _slice(call: NodeCall) -> Any:
    x = call["x"]
    for dim, (offset, size) in enumerate(zip(call.ints("offsets"), call.ints("size"))):
        x = x.narrow(dim, offset, x.size(dim) - offset if size == -1 else size)
    return x


_MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")


def _strided_slice(call: NodeCall) -> Any:
    x = call["x"]
    if call.node.type == "StridedSliceD":
        begin, end, strides = (list(call.required(name)) for name in ("begin", "end", "strides"))
    else:
        begin, end = call.ints("begin"), call.ints("end")
        strides = call.ints("strides") if call.get("strides") is not None else [1] * len(begin)
    axes = call.ints("axes") if call.get("axes") is not None else list(range(len(begin)))
    masks = {name: int(call.attr(name, 0)) for name in _MASKS}
    if masks["ellipsis_mask"] or masks["new_axis_mask"]:
        raise OpkitError(f"cannot interpret {call.node.type} with {masks} (node {call.node.name})")
    shrunk = []
    for place, axis in enumerate(axes):
        bit = 1 << place
        axis %= x.dim()
        if masks["shrink_axis_mask"] & bit:
            x = x.narrow(axis, begin[place] % x.size(axis), 1)
            shrunk.append(axis)
            continue
        first = None if masks["begin_mask"] & bit else begin[place]
        last = None if masks["end_mask"] & bit else end[place]
        x = _take(x, axis, range(x.size(axis))[slice(first, last, strides[place])])
    return x.squeeze(tuple(shrunk)) if shrunk else x


def _take(x: torch.Tensor, axis: int, places: range) -> torch.Tensor:
    import torch

    return x.index_select(axis, torch.tensor(list(places), dtype=torch.int64))


def _as_strided(call: NodeCall) -> Any:
    offset = int(call["storage_offset"].item())
    return call["x"].as_strided(call.ints("size"), call.ints("stride"), offset)


def _view_copy(call: NodeCall) -> Any:
    places = [
        call[side].as_strided(
            call.ints(f"{side}_size"), call.ints(f"{side}_stride"), int(call[f"{side}_storage_offset"].item())
        )
        for side in ("dst", "src")
    ]
    places[0].copy_(places[1])
    return call["dst"]


def _assign(call: NodeCall) -> Any:
    return call["ref"].copy_(call["value"])


def _scatter_elements(call: NodeCall) -> Any:
    call.expect("reduction", "none", "add", default="none")
    data, axis, indices = call["data"].clone(), call.attr("axis", 0), call["indices"].long()
    if call.attr("reduction", "none") == "add":
        return data.scatter_add_(axis, indices, call["updates"])
    return data.scatter_(axis, indices, call["updates"])


def _scatter(call: NodeCall) -> Any:
    """Overwrites var[i] by updates[i], along `axis` from indices[i] on, for each i of the first dim."""
    call.expect("reduce", "update")
    var, updates, indices = call["var"], call["updates"], call["indices"]
    axis = call.attr("axis", 0) % var.dim()
    if axis == 0 or indices.dim() != 1:
        shape = list(indices.size())
        raise OpkitError(
            f"cannot interpret Scatter with axis {axis} and indices {shape} (node {call.node.name})"
        )
    for row, start in enumerate(call.ints("indices")):
        var[row].narrow(axis - 1, start, updates.size(axis)).copy_(updates[row])
    return var


def _scatter_nd_update(call: NodeCall) -> Any:
    var, indices = call["var"], call["indices"].long()
    var[tuple(indices.unbind(-1))] = call["updates"]
    return var


def _fill(call: NodeCall) -> Any:
    import torch

    value = call["value"]
    return torch.full(call.ints("dims"), value.item(), dtype=value.dtype)


def _empty(call: NodeCall) -> Any:
    import torch

    fresh = torch.zeros(call.ints("shape"), dtype=from_number(int(call.attr("dtype", 3))).torch())
    if not call.attr("init", False):
        fill_bytes(fresh, POISON)
    return fresh


def _masked_fill(call: NodeCall) -> Any:
    return call["x"].masked_fill(call["mask"], call["value"].item())


def _one_hot(call: NodeCall) -> Any:
    import torch

    call.expect("axis", -1, default=-1)
    places = torch.arange(int(call["depth"].item())) == call["x"].unsqueeze(-1)
    return torch.where(places, call["on_value"], call["off_value"])


def _pad(call: NodeCall) -> Any:
    import torch

    call.expect("mode", "constant", default="constant")
    call.expect("paddings_contiguous", True, default=True)
    pairs = [tuple(pair) for pair in call["paddings"].reshape(-1, 2).tolist()]
    value = call.get("constant_values")
    widths = [int(width) for pair in reversed(pairs) for width in pair]
    return torch.nn.functional.pad(call["x"], widths, value=0 if value is None else value.item())


LAYOUT: dict[str, Compute] = {
    "AsStrided": _as_strided,
    "Assign": _assign,
    "Bitcast": _bitcast,
    "BroadcastTo": lambda call: call["x"].expand(call.ints("shape")),
    "Cast": lambda call: call["x"].to(call.dtype("dst_type"), copy=True),
    "ConcatD": _concat,
    "ConcatV2": _concat,
    "Empty": _empty,
    "Expand": lambda call: call["x"].expand(call.ints("shape")),
    "ExpandDims": lambda call: call["x"].unsqueeze(int(call["axis"].item())),
    "Fill": _fill,
    "FlattenV2": _flatten,
    "Gather": _gather,
    "GatherElements": lambda call: call["x"].gather(call.attr("dim", 0), call["index"].long()),
    "GatherV2": _gather,
    "Identity": lambda call: call["x"],
    "Index": _index,
    "IndexByTensor": _index,
    "IndexPutV2": _index_put,
    "MaskedFill": _masked_fill,
    "OneHot": _one_hot,
    "Pack": _pack,
    "Pad": _pad,
    "PadV3": _pad,
    "Permute": lambda call: call["x"].permute(call.required("order")),
    "Reshape": _reshape,
    "ReverseV2": lambda call: call["x"].flip(call.ints("axis")),
    "Scatter": _scatter,
    "ScatterElements": _scatter_elements,
    "ScatterElementsV2": _scatter_elements,
    "ScatterNdUpdate": _scatter_nd_update,
    "Shape": _shape,
    "Slice": _slice,
    "Split": _split,
    "SplitD": _split,
    "SplitV": _split,
    "SplitVD": _split,
    "Squeeze": _squeeze,
    "StridedSlice": _strided_slice,
    "StridedSliceD": _strided_slice,
    "StridedSliceV2": _strided_slice,
    "TensorMove": lambda call: call["x"],
    "Tile": lambda call: call["x"].repeat(call.ints("multiples")),
    "Transpose": lambda call: call["x"].permute(call.ints("perm")),
    "Unpack": _unpack,
    "Unsqueeze": _unsqueeze,
    "ViewCopy": _view_copy,
}

# Nodes without a kernel: their output is the memory of their input with another description.
ALIASES = frozenset({"Bitcast", "ExpandDims", "FlattenV2", "Reshape", "Squeeze", "Unsqueeze"})

STANDARD: dict[str, Compute] = {**MATH, **NETWORK, **LAYOUT}
