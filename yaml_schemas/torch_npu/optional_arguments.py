"""Operators with optional arguments that the host code gives a value of its own (torch_npu 2.13)."""

from __future__ import annotations

from typing import Any

import torch

from opkit.registration.dtypes import dtype_from_int
from opkit.registration.machine import soc_at_least

# Numbers of dtypes.
_INT4, _FLOAT4, _PAIRS = 16, (45, 296), (296, 297)
_FLOAT6, _FLOAT8 = (294, 295), (290, 291, 292)
_BLOCK = 32


def npu_transpose_batchmatmul(
    input: torch.Tensor,
    weight: torch.Tensor,
    *,
    bias: torch.Tensor | None = None,
    scale: torch.Tensor | None = None,
    perm_x1: list[int] | None = None,
    perm_x2: list[int] | None = None,
    perm_y: list[int] | None = None,
    batch_split_factor: int | None = 1,
) -> torch.Tensor:
    """A product for each batch, with the batches after the rows."""
    order, weights = list(perm_x1 or (0, 1, 2)), list(perm_x2 or (0, 1, 2))
    torch._check(order in ([0, 1, 2], [1, 0, 2]), lambda: f"perm_x1 must be [0, 1, 2] or [1, 0, 2]: {order}")
    torch._check(
        weights in ([0, 1, 2], [0, 2, 1]), lambda: f"perm_x2 must be [0, 1, 2] or [0, 2, 1]: {weights}"
    )
    torch._check(list(perm_y or (1, 0, 2)) == [1, 0, 2], lambda: f"perm_y must be [1, 0, 2], but is {perm_y}")
    torch._check(bias is None, lambda: "bias must be None")
    size = _product(input, weight, order, weights, batch_split_factor, scale is not None)
    return input.new_empty(size, dtype=input.dtype)


def npu_transpose_quant_batchmatmul(
    x1: torch.Tensor,
    x2: torch.Tensor,
    dtype: int,
    *,
    bias: torch.Tensor | None = None,
    x1_scale: torch.Tensor | None = None,
    x2_scale: torch.Tensor | None = None,
    group_sizes: list[int] | None = None,
    perm_x1: list[int] | None = None,
    perm_x2: list[int] | None = None,
    perm_y: list[int] | None = None,
    batch_split_factor: int | None = 1,
    x1_dtype: int | None = None,
    x2_dtype: int | None = None,
) -> torch.Tensor:
    """A product of quantized matrices for each batch, with the batches after the rows."""
    order, weights = list(perm_x1 or (1, 0, 2)), list(perm_x2 or (0, 1, 2))
    size = _product(x1, x2, order, weights, batch_split_factor, False)
    known = all(number in (None, *_FLOAT8) for number in (x1_dtype, x2_dtype))
    torch._check(known, lambda: f"x1_dtype and x2_dtype cannot be {x1_dtype} and {x2_dtype}")
    torch._check(dtype not in _FLOAT6, lambda: f"dtype cannot be {dtype}")
    return x1.new_empty(size, dtype=dtype_from_int(dtype))


def _product(
    x1: torch.Tensor, x2: torch.Tensor, order: list[int], weights: list[int], split: int | None, joined: bool
) -> list[Any]:
    rows, batches = x1.size(order.index(1)), x1.size(order.index(0))
    columns = x2.size(weights.index(2))
    if split is not None and split > 1:
        return [split, rows, batches * columns // split]
    return [rows, 1, batches * columns] if joined else [rows, batches, columns]


def npu_moe_finalize_routing(
    expanded_permuted_rows: torch.Tensor,
    skip1: torch.Tensor | None,
    skip2: torch.Tensor | None,
    bias: torch.Tensor | None,
    scales: torch.Tensor | None,
    expanded_src_to_dst_row: torch.Tensor,
    export_for_source_row: torch.Tensor | None,
    drop_pad_mode: int | None = 0,
    k: int | None = 1,
) -> torch.Tensor:
    """The rows before they went to the experts; with padding the experts' rows have a dim of their own."""
    place = -1 if drop_pad_mode is None else 2 if drop_pad_mode in (1, 3) else 1
    width = expanded_permuted_rows.size(place)
    if scales is not None:
        rows: Any = scales.size(0)
    else:
        rows = expanded_src_to_dst_row.size(0)
        rows = rows // k if k is not None and k > 0 else rows
    return expanded_permuted_rows.new_empty([rows, width])


def npu_rotate_quant(
    x: torch.Tensor,
    rotation: torch.Tensor,
    *,
    alpha: torch.Tensor | None = None,
    dst_dtype: int | None = None,
    axis: int | None = -1,
    round_mode: str | None = "rint",
    scale_alg: int | None = 0,
    dst_type_max: float | None = 0.0,
    transpose_y: bool | None = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Quantized rows with a scale each; 8- and 4-bit floats have a scale for two blocks of 32 each."""
    place = -1 if axis is None else axis
    torch._check(-x.dim() <= place < x.dim(), lambda: f"x has no dim {place}")
    torch._check(not transpose_y, lambda: "transpose_y must be False")
    packed = 8 if dst_dtype == _INT4 else 2 if dst_dtype in _FLOAT4 else 1
    torch._check(x.size(-1) % packed == 0, lambda: f"the last dim of x must be divisible by {packed}")
    narrow = {None: torch.int8, _INT4: torch.int32, **dict.fromkeys(_FLOAT4, torch.uint8)}
    kind = narrow[dst_dtype] if dst_dtype in narrow else dtype_from_int(dst_dtype or 0)
    y = x.new_empty([*x.shape[:-1], x.size(-1) // packed], dtype=kind)
    if dst_dtype not in _FLOAT4 and kind not in (torch.float8_e5m2, torch.float8_e4m3fn):
        return y, x.new_empty([x.size(0)], dtype=torch.float32)
    size = [*x.shape, 2]
    dim = place % x.dim()
    size[dim] = ((size[dim] + _BLOCK - 1) // _BLOCK + 1) // 2
    return y, x.new_empty(size, dtype=torch.float8_e8m0fnu)


def npu_dequant_swiglu_quant(
    x: torch.Tensor,
    *,
    weight_scale: torch.Tensor | None = None,
    activation_scale: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    quant_scale: torch.Tensor | None = None,
    quant_offset: torch.Tensor | None = None,
    group_index: torch.Tensor | None = None,
    activate_left: bool = False,
    quant_mode: int = 0,
    dst_type: int | None = None,
    round_mode: int | None = None,
    activate_dim: int | None = None,
    swiglu_mode: int = 0,
    clamp_limit: float = 7.0,
    glu_alpha: float = 1.702,
    glu_bias: float = 1.0,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Half of a dim, quantized, and a scale for each row; before 950 the last dim, and int8."""
    size, kind, dim = list(x.shape), torch.int8, -1
    if soc_at_least("950"):
        dim = -1 if activate_dim is None else activate_dim
        narrow = {None: torch.int8, **dict.fromkeys(_PAIRS, torch.uint8)}
        kind = narrow[dst_type] if dst_type in narrow else dtype_from_int(dst_type or 0)
    size[dim] = size[dim] // 2
    scale = size[:-1]
    if soc_at_least("950") and dst_type in _PAIRS:
        size[-1] = size[-1] // 2
    return x.new_empty(size, dtype=kind), x.new_empty(scale, dtype=torch.float32)
