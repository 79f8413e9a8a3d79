"""Shape and dtype functions of op-plugin's own helpers, under names that say what they compute.

The rules are those of `op_plugin/utils/KernelNpuOutputSize.cpp` and `KernelNpuOutputDtype.cpp`. What
`library.py` says of itself holds here too: this is text, read and never imported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

    from opkit.shape.library import (
        Shape,
        align,
        ceildiv,
        is_integral,
        prod,
        result_type,
        set_dim,
        set_last_dims,
    )

# ruff: noqa: D103 - the text is meant for generated modules, where a docstring per function is noise.


def rms_norm_shapes(shape: Shape, gamma: Shape) -> list[list[Any]]:
    """Shapes of y and rstd: rstd has 1 where gamma's dims are."""
    kept = len(shape) - len(gamma)
    return [list(shape), list(shape[:kept]) + [1] * len(gamma)]


def halve_dim(shape: Shape, dim: int = -1) -> list[Any]:
    return set_dim(shape, dim, shape[dim] // 2)


def addr_shape(shape: Shape, column: Shape, row: Shape) -> Any:
    return torch.broadcast_shapes(shape, (column[0], row[0]))


def cdist_shape(left: Shape, right: Shape) -> list[Any]:
    return [*torch.broadcast_shapes(left[:-2], right[:-2]), left[-2], right[-2]]


def broadcast_present(shape: Shape, *others: Shape | None) -> Any:
    """Broadcast `shape` with those of the others that are there; one must be."""
    present = [other for other in others if other is not None]
    if not present:
        raise ValueError("at least one of min and max must be given")
    return torch.broadcast_shapes(shape, *present)


def im2col_backward_shape(shape: Shape, size: Shape, kernel: Shape) -> list[Any]:
    channels = shape[-2] // (kernel[0] * kernel[1])
    return [*shape[:-2], channels, size[0], size[1]]


def max_pool2d_shape(shape: Shape, size: Shape) -> list[Any]:
    return set_last_dims(shape, size) if len(shape) in (3, 4) and len(size) == 2 else list(shape)


def max_pool3d_shape(shape: Shape, size: Shape) -> list[Any]:
    return set_last_dims(shape, size[:3]) if len(shape) in (4, 5) else []


def gather_sparse_index_shape(shape: Shape, index: Shape) -> list[Any]:
    return [*index, *shape[1:]] if len(shape) else []


def group_quant_shape(shape: Shape, dtype: torch.dtype | None) -> list[Any]:
    """Eight 4-bit values share an int32."""
    return set_dim(shape, -1, shape[-1] // 8) if dtype == torch.quint4x2 else list(shape)


def group_quant_dtype(dtype: torch.dtype | None) -> torch.dtype:
    if dtype in (None, torch.int8, torch.qint8):
        return torch.int8
    if dtype == torch.quint4x2:
        return torch.int32
    raise ValueError(f"dst_dtype must be int8 or quint4x2, got {dtype}")


def nsa_compress_shape(
    shape: Shape, kind: int | None, lengths: Shape | None, block: Any, stride: Any
) -> list[Any]:
    """Blocks over cumulative sequence lengths; lengths are host numbers."""
    if kind != 0:
        return []
    total, previous = 0, 0
    for end in lengths or ():
        length = end - previous
        total = total + ((length - block + stride) // stride if length >= block else 0)
        previous = end
    return [total, shape[1], shape[2]]


def nsa_infer_shape(query: Shape, value: Shape, kv_heads: Any, layout: str) -> list[Any]:
    if layout not in ("TND", "BSND"):
        raise ValueError(f"layout must be TND or BSND, got {layout}")
    return [*query[: 2 if layout == "TND" else 3], value[2] // kv_heads]


def nsa_topk_shape(query: Shape, kv_heads: Any, count: Any, layout: str) -> list[Any]:
    if layout not in ("TND", "BSND"):
        raise ValueError(f"layout must be TND or BSND, got {layout}")
    return [*query[: 1 if layout == "TND" else 2], kv_heads, count]


def nsa_select_shape(query: Shape, value: Shape, heads: Any, kv_heads: Any, layout: str) -> list[Any]:
    if layout == "BSH":
        return [query[0], query[1], heads * (value[2] // kv_heads)]
    if layout == "TND":
        return [query[0], query[1], value[2] // kv_heads]
    if layout == "BSND":
        return [query[0], query[1], query[2], value[3]]
    raise ValueError(f"layout must be BSH, TND or BSND, got {layout}")


def moe_permute_shape(tokens: Shape, indices: Shape, count: Any) -> list[Any]:
    total = prod(indices)
    count = 0 if count is None else count
    return [torch.sym_min(count, total) if count > 0 else count + total, tokens[1]]


def cross_entropy_loss_shape(shape: Shape, reduction: str) -> list[Any]:
    return [shape[0]] if reduction == "none" else [1]


def cross_entropy_zloss_shape(shape: Shape, reduction: str, return_zloss: bool) -> list[Any]:
    return cross_entropy_loss_shape(shape, reduction) if return_zloss else [0]


def cross_entropy_lse_shape(shape: Shape, scale: float) -> list[Any]:
    return [shape[0]] if scale != 0.0 else [0]


def probs_shape(probs: Shape | None) -> list[Any]:
    return [] if probs is None else [probs[0], probs[1]]


def combine_setup_shapes(shape: Shape, world_size: Any) -> list[list[Any]]:
    tokens, hidden = shape[0], shape[1]
    return [
        [tokens, align(align(hidden, 32) + align(hidden, 8) // 8 * 4, 512)],
        [(tokens + world_size) * 16],
    ]


def dispatch_setup_shapes(
    shape: Shape,
    ids: Shape,
    world: Any,
    rank: int,
    experts: Any,
    shard: int,
    shared: Any,
    shared_ranks: int,
    quant: int,
    dtype: int | None,
) -> list[list[Any]]:
    """Tokens sent to the experts, with their quantisation scales appended, in units of 512 bytes."""
    tokens, hidden, top_k = shape[0], shape[1], ids[1]
    if quant == 0:
        width = align(align(2 * hidden, 32), 512) // 2
    elif quant == 1:
        width = align(align(hidden, 32), 512)
    elif quant == 2:
        width = align(align(hidden, 32) + 4, 512)
    elif quant == 3:
        width = align(align(hidden, 128) + 4 * ceildiv(hidden, 128), 512)
    elif quant == 4:
        width = align(align(hidden, 256) + align(ceildiv(hidden, 32), 2), 512)
    else:
        raise ValueError(f"quant_mode must be 0 to 4, got {quant}")
    local = local_experts(world, rank, experts, shared_ranks)
    sent = tokens * (top_k + shared)
    return [[sent, width], [tokens * top_k], [(sent + world * local) * 16]]


def dispatch_teardown_shapes(
    shape: Shape,
    ids: Shape,
    world: Any,
    rank: int,
    experts: Any,
    shard: int,
    shared_ranks: int,
    total: Any,
    quant: int,
) -> list[list[Any]]:
    """Tokens received by this rank at most, their scales, and the counts."""
    tokens, hidden, top_k = shape[0], shape[1], ids[1]
    total = total if total else tokens * world
    local = local_experts(world, rank, experts, shared_ranks)
    received = total // shared_ranks if rank < shared_ranks else total * torch.sym_min(local, top_k)
    scales = {3: [received, ceildiv(hidden, 128)], 4: [received, align(ceildiv(hidden, 32), 2)]}
    return [[received, hidden], scales.get(quant, [received]), [received * 128], [local]]


def local_experts(world: Any, rank: int, experts: Any, shared_ranks: int) -> Any:
    return 1 if rank < shared_ranks else experts // (world - shared_ranks)


def promote_first_present(dtype: torch.dtype, *others: torch.dtype | None) -> torch.dtype:
    """`dtype` promoted with the first of the others that is there."""
    return next((torch.promote_types(dtype, other) for other in others if other is not None), dtype)


def angle_dtype(dtype: torch.dtype) -> torch.dtype:
    if dtype.is_complex:
        return torch.float32 if dtype == torch.complex64 else torch.float64
    return torch.float32 if is_integral(dtype, True) else dtype


def polar_dtype(abs_: torch.Tensor, angle: torch.Tensor) -> torch.dtype:
    dtype = torch.result_type(abs_, angle)
    return dtype.to_complex() if dtype.is_floating_point else dtype


def result_type_present(value: Any, *others: Any) -> torch.dtype:
    return result_type(value, *(other for other in others if other is not None))
