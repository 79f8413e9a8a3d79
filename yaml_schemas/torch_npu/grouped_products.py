"""Products of grouped matrices; the host code gives optional arguments values of its own (torch_npu 2.13)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from opkit.registration.dtypes import check_dtypes, dtype_from_int
from opkit.registration.machine import soc_at_least

# Numbers of torch_npu's dtypes: two of 4 bits, one of 8, and that of the scales of blocks.
_FLOAT4 = (296, 297)
_HIFLOAT8, _FLOAT4_E2M1, _BLOCK_SCALE = 290, 296, 293
_FLOAT8 = (23, 24, 291, 292)
_PER_INT32 = 8
_BLOCKS = 64


def npu_grouped_matmul(
    x: list[Tensor],
    weight: list[Tensor],
    *,
    bias: list[Tensor] | None = None,
    scale: list[Tensor] | None = None,
    offset: list[Tensor] | None = None,
    antiquant_scale: list[Tensor] | None = None,
    antiquant_offset: list[Tensor] | None = None,
    per_token_scale: list[Tensor] | None = None,
    group_list: Tensor | None = None,
    activation_input: list[Tensor] | None = None,
    activation_quant_scale: list[Tensor] | None = None,
    activation_quant_offset: list[Tensor] | None = None,
    split_item: int | None = 0,
    group_type: int | None = None,
    group_list_type: int | None = 0,
    act_type: int | None = 0,
    tuning_config: list[int] | None = None,
    output_dtype: int | None = None,
    x_dtype: int | None = None,
    weight_dtype: int | None = None,
    scale_dtype: int | None = None,
    per_token_scale_dtype: int | None = None,
) -> list[Tensor]:
    """A product for each group, or all of them under each other."""
    split = _split(x, weight, split_item)
    torch._check(group_type in (-1, 0, 2), lambda: f"group_type must be -1, 0 or 2, but is {group_type}")
    check_dtypes(x_dtype, weight_dtype, scale_dtype, per_token_scale_dtype)
    dtype = x[0].dtype if output_dtype is None else dtype_from_int(output_dtype)
    stacked = len(weight) == 1 and weight[0].dim() == 3
    count = weight[0].size(0) if stacked else len(weight)
    if split < 2:
        weights = weight * count if stacked else weight
        if group_list is None:
            torch._check(len(x) == count, lambda: "without group_list x must be as long as weight")
            return [_product(a, [*a.shape[:-1], b.size(-1)], dtype) for a, b in zip(x, weights)]
        torch._check(len(x) == 1, lambda: "with group_list x must have one tensor")
        torch._check(group_list.size(0) == count, lambda: "group_list must be as long as weight")
        torch._check(group_type == 2, lambda: "the sizes of the results are numbers in group_list")
        return [_product(x[0], [x[0].size(0), b.size(-1)], dtype) for b in weights]
    size = [sum(a.size(0) for a in x), _columns(x[0], weight[0], x_dtype, weight_dtype)]
    if group_type == 2 and len(x) == 1:
        torch._check(count == 1, lambda: "weight must be as long as x where the inner dim is split")
        size.insert(0, 0 if group_list is None else group_list.size(0))
    return [_product(x[0], size, dtype)]


def npu_grouped_matmul_list(
    x: list[Tensor],
    weight: list[Tensor],
    *,
    bias: list[Tensor] | None = None,
    scale: list[Tensor] | None = None,
    offset: list[Tensor] | None = None,
    antiquant_scale: list[Tensor] | None = None,
    antiquant_offset: list[Tensor] | None = None,
    per_token_scale: list[Tensor] | None = None,
    group_list: list[int] | None = None,
    activation_input: list[Tensor] | None = None,
    activation_quant_scale: list[Tensor] | None = None,
    activation_quant_offset: list[Tensor] | None = None,
    split_item: int | None = 0,
    group_type: int | None = None,
    group_list_type: int | None = 0,
    act_type: int | None = 0,
    output_dtype: torch.dtype | None = None,
) -> list[Tensor]:
    """The same with numbers for the rows at which groups end; it knows no stacked or packed weights."""
    split = _split(x, weight, split_item)
    dtype = x[0].dtype if output_dtype is None else output_dtype
    if split >= 2:
        return [_product(x[0], [sum(a.size(0) for a in x), weight[0].size(1)], dtype)]
    if not group_list:
        torch._check(len(x) == len(weight), lambda: "without group_list x must be as long as weight")
        return [_product(a, [*a.shape[:-1], b.size(1)], dtype) for a, b in zip(x, weight)]
    torch._check(len(x) == 1, lambda: "with group_list x must have one tensor")
    torch._check(len(group_list) == len(weight), lambda: "group_list must be as long as weight")
    rows = [end - start for start, end in zip([0, *group_list], group_list)]
    torch._check(all(number >= 0 for number in rows), lambda: f"group_list must not fall: {group_list}")
    return [_product(x[0], [number, b.size(1)], dtype) for number, b in zip(rows, weight)]


def _split(x: list[Tensor], weight: list[Tensor], split_item: int | None) -> int:
    torch._check(len(x) > 0 and len(weight) > 0, lambda: "x and weight must not be empty")
    split = 0 if split_item is None else split_item
    torch._check(split in (0, 1, 2, 3), lambda: f"split_item must be 0 to 3, but is {split}")
    return split


def _product(like: Tensor, size: list[Any], dtype: torch.dtype) -> Tensor:
    return like.new_empty(size, dtype=dtype)


def _columns(x: Tensor, weight: Tensor, x_dtype: int | None, weight_dtype: int | None) -> Any:
    """How many columns a product has: weights of 4 bits are packed along the dim that is dense."""
    columns = weight.size(-1)
    if x_dtype in _FLOAT4 and weight_dtype in _FLOAT4:
        return columns if _transposed(weight) else columns * 2
    packed = weight.dtype == torch.int32 or (weight.dtype == torch.float32 and x.dtype != torch.float32)
    return columns * _PER_INT32 if packed and not _transposed(weight) else columns


def _transposed(weight: Tensor) -> bool:
    return bool(weight.dim() > 1 and weight.stride(-2) == 1 and weight.stride(-1) == weight.size(-2))


def _check_scales(*dtypes: int | None) -> None:
    known = all(number in (None, _BLOCK_SCALE) for number in dtypes)
    torch._check(known, lambda: f"scales cannot have the dtypes {dtypes}")


def npu_grouped_matmul_swiglu_quant_v2(
    x: Tensor,
    weight: list[Tensor],
    weight_scale: list[Tensor],
    x_scale: Tensor,
    group_list: Tensor,
    *,
    smooth_scale: Tensor | None = None,
    weight_assist_matrix: list[Tensor] | None = None,
    bias: Tensor | None = None,
    dequant_mode: int | None = 0,
    dequant_dtype: int | None = 6,
    quant_mode: int | None = 0,
    quant_dtype: int | None = 1,
    group_list_type: int | None = 0,
    tuning_config: list[int] | None = None,
    x_dtype: int | None = None,
    weight_dtype: int | None = None,
    weight_scale_dtype: int | None = None,
    x_scale_dtype: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Half of the columns, quantized, with a scale for each row, or for each 32 columns."""
    torch._check(len(weight) == 1 and len(weight_scale) == 1, lambda: "weight and weight_scale must have one")
    torch._check(x.dim() > 1, lambda: "x must have 2 dims")
    _check_scales(weight_scale_dtype, x_scale_dtype)
    numbers = (x_dtype, weight_dtype)
    known = numbers == (None, None) or all(number in (*_FLOAT4, _HIFLOAT8) for number in numbers)
    torch._check(known, lambda: f"x_dtype and weight_dtype cannot be {numbers}")
    known = not soc_at_least("950") or dequant_dtype in (None, 1, 5, 6, 15)
    torch._check(known, lambda: f"dequant_dtype cannot be {dequant_dtype}")
    check_dtypes(quant_dtype, dequant_dtype if weight_scale_dtype is not None else None)
    rows, columns = x.size(0), weight_scale[0].size(-1)
    if soc_at_least("950"):
        # The host reads a dim 2 of any weight; it finds 0 where there is none.
        columns = weight[0].size(2) if weight[0].dim() > 2 else 0
    if weight_scale_dtype is None:
        torch._check(quant_dtype is not None, lambda: "quant_dtype must be given")
        narrow = quant_dtype in (*_FLOAT8, _HIFLOAT8)
        dtype = dtype_from_int(quant_dtype or 0) if narrow else torch.int8
        return x.new_empty([rows, columns // 2], dtype=dtype), x.new_empty([rows], dtype=torch.float32)
    torch._check(weight[0].dim() == 3, lambda: "weight must have 3 dims where its scales are of blocks")
    dtype = x.dtype if quant_dtype is None else dtype_from_int(quant_dtype)
    float4 = all(number in _FLOAT4 for number in numbers)
    columns = (columns * 2 if float4 and not _transposed(weight[0]) else columns) // 2
    scale = x.new_empty([rows, (columns + _BLOCKS - 1) // _BLOCKS, 2], dtype=dtype_from_int(_BLOCK_SCALE))
    columns = columns // 2 if float4 and quant_dtype not in _FLOAT8 else columns
    return x.new_empty([rows, columns], dtype=dtype), scale


def npu_grouped_matmul_finalize_routing(
    x: Tensor,
    w: Tensor,
    group_list: Tensor,
    *,
    scale: Tensor | None = None,
    bias: Tensor | None = None,
    offset: Tensor | None = None,
    pertoken_scale: Tensor | None = None,
    shared_input: Tensor | None = None,
    logit: Tensor | None = None,
    row_index: Tensor | None = None,
    dtype: torch.dtype | None = None,
    shared_input_weight: float | None = 1.0,
    shared_input_offset: int | None = 0,
    output_bs: int | None = 0,
    group_list_type: int | None = 1,
    tuning_config: list[int] | None = None,
    x_dtype: int | None = None,
    w_dtype: int | None = None,
    scale_dtype: int | None = None,
    pertoken_scale_dtype: int | None = None,
) -> Tensor:
    """The rows before they went to the experts: `output_bs` of them, or as many as `x` has."""
    torch._check(x.dim() == 2 and w.dim() == 3, lambda: "x must have 2 dims, and w 3")
    torch._check(group_list_type in (0, 1), lambda: f"group_list_type must be 0 or 1: {group_list_type}")
    torch._check(dtype in (None, torch.float32), lambda: f"dtype must be float32, but is {dtype}")
    known = all(number in (None, _HIFLOAT8, _FLOAT4_E2M1) for number in (x_dtype, w_dtype))
    torch._check(known, lambda: f"x_dtype and w_dtype cannot be {x_dtype} and {w_dtype}")
    _check_scales(scale_dtype, pertoken_scale_dtype)
    named = ((x, x_dtype), (w, w_dtype), (scale, scale_dtype), (pertoken_scale, pertoken_scale_dtype))
    bytes_ = all(t is None or number is None or t.element_size() == 1 for t, number in named)
    torch._check(bytes_, lambda: "what is given a dtype by its number must lie in bytes")
    columns = w.size(2)
    if w.dtype == torch.int32:
        columns = columns * _PER_INT32
    elif x_dtype == w_dtype == _FLOAT4_E2M1 and not _transposed(w):
        columns = columns * 2
    return x.new_empty([output_bs or x.size(0), columns], dtype=torch.float32)
