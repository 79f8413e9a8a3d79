"""Results of torch_npu's inference attention, for each way its tensors may be laid out.

The same as `infer_output` of op-plugin's FusedInferAttentionScore (torch_npu 2.13).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from opkit.registration.dtypes import check_dtypes, dtype_from_int

# input_layout -> how the query is laid out, and how the result is. H is heads times head dim.
LAYOUTS = {
    "BSH": ("BSH", "BSH"),
    "BSH_BNSD": ("BSH", "BNSD"),
    "BSH_NBSD": ("BSH", "NBSD"),
    "BSND": ("BSND", "BSND"),
    "BSND_BNSD": ("BSND", "BNSD"),
    "BSND_NBSD": ("BSND", "NBSD"),
    "BNSD": ("BNSD", "BNSD"),
    "BNSD_BSND": ("BNSD", "BSND"),
    "BNSD_NBSD": ("BNSD", "NBSD"),
    "TND": ("TND", "TND"),
    "TND_NTD": ("TND", "NTD"),
    "NTD": ("NTD", "NTD"),
    "NTD_TND": ("NTD", "TND"),
    "NSD": ("NSD", "NSD"),
}
# Numbers of dtypes that lie in bytes; those of 4 bits lie there in pairs.
HIFLOAT8, FLOAT4 = 290, (45, 296, 297)


def npu_fused_infer_attention_score_infer_output(
    query: torch.Tensor,
    value: torch.Tensor,
    *,
    input_layout: str = "BSH",
    quant_scale2: torch.Tensor | None = None,
    block_table: torch.Tensor | None = None,
    num_heads: int = 1,
    num_key_value_heads: int = 0,
    softmax_lse_flag: bool = False,
    query_rope: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Attention and log-sum-exp of npu_fused_infer_attention_score."""
    packed = 8 if value.dtype == torch.int32 else 1
    heads = (num_heads, num_key_value_heads)
    attention, lse = _sizes(query, value, input_layout, heads, block_table is not None, packed)
    dtype = query.dtype
    if quant_scale2 is not None:
        dtype = torch.int8
    elif query.dtype == torch.int8:
        dtype = torch.float16 if query_rope is None else query_rope.dtype
    return _results(query, attention, dtype, lse, softmax_lse_flag)


def npu_fused_infer_attention_score_v2_infer_output(
    query: torch.Tensor,
    value: torch.Tensor,
    *,
    query_dtype: int | None = None,
    value_dtype: int | None = None,
    input_layout: str = "BSH",
    quant_scale_out: torch.Tensor | None = None,
    block_table: torch.Tensor | None = None,
    num_query_heads: int = 1,
    num_key_value_heads: int = 0,
    return_softmax_lse: bool = False,
    query_rope: torch.Tensor | None = None,
    out_dtype: int | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Attention and log-sum-exp of npu_fused_infer_attention_score_v2."""
    packed = 1
    if value.dtype == torch.int32:
        packed = 8
    elif _number(value_dtype) in FLOAT4:
        packed = 2
    heads = (num_query_heads, num_key_value_heads)
    attention, lse = _sizes(query, value, input_layout, heads, block_table is not None, packed)
    dtype = query.dtype
    if quant_scale_out is not None:
        dtype = torch.int8 if out_dtype is None else dtype_from_int(out_dtype)
    elif query.dtype in (torch.int8, torch.float8_e4m3fn) or (
        query.dtype == torch.uint8 and _number(query_dtype) == HIFLOAT8
    ):
        # An out_dtype counts only here and above.
        dtype = torch.float16 if query_rope is None else query_rope.dtype
        dtype = dtype if out_dtype is None else dtype_from_int(out_dtype)
    return _results(query, attention, dtype, lse, return_softmax_lse)


def _sizes(
    query: torch.Tensor, value: torch.Tensor, layout: str, heads: tuple[int, int], paged: bool, packed: int
) -> tuple[list[Any], list[Any]]:
    """The sizes of attention and log-sum-exp."""
    query_heads, key_value_heads = heads
    torch._check(query_heads > 0, lambda: f"there must be 1 head or more, but got {query_heads}")
    torch._check(layout in LAYOUTS, lambda: f"input_layout {layout} is none of {', '.join(LAYOUTS)}")
    taken, given = LAYOUTS[layout]
    torch._check(query.dim() == len(taken), lambda: f"query must have {len(taken)} dims for {layout}")
    head_dim = packed * _value_head_dim(query, value, taken, key_value_heads or query_heads, paged)
    dims: dict[str, Any] = {"B": 1, **dict(zip(taken, query.shape))}
    if taken == "BSH":
        dims["N"], dims["D"] = query_heads, dims["H"] // query_heads
        if head_dim != 0 and dims["H"] != 0:
            dims["H"] = query_heads * head_dim
    if head_dim != 0 and dims["D"] != 0:
        dims["D"] = head_dim
    lse = "TN" if "T" in taken else "BNS"
    return [dims[name] for name in given], [*(dims[name] for name in lse), 1]


def _value_head_dim(
    query: torch.Tensor, value: torch.Tensor, taken: str, key_value_heads: int, paged: bool
) -> Any:
    """The head dim of value, as stored."""
    shape: Sequence[Any] = value.shape
    if paged:
        torch._check(len(shape) in (3, 4, 5), lambda: "a paged value must have 3, 4 or 5 dims")
        return (shape[2] // key_value_heads, shape[-1], shape[2] * shape[-1])[len(shape) - 3]
    torch._check(len(shape) == query.dim(), lambda: "query and value must have as many dims")
    return shape[-1] // key_value_heads if taken == "BSH" else shape[-1]


def _results(
    query: torch.Tensor, attention: list[Any], dtype: torch.dtype, lse: list[Any], has_lse: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    return (
        query.new_empty(attention, dtype=dtype),
        query.new_empty(lse if has_lse else [0], dtype=torch.float32),
    )


def _number(dtype: int | None) -> int | None:
    """A dtype's number, which must be one that torch_npu knows."""
    check_dtypes(dtype)
    return dtype
