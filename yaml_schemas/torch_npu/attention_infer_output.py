"""Results of torch_npu's inference attention, for each way its tensors may be laid out.

The same as `infer_output` of op-plugin's FusedInferAttentionScore (torch_npu 2.13).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

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
# Dtypes by CANN's number; torch_npu adds 256 to it where torch's own numbers are taken as well.
ACL_DTYPES = {
    0: "float32", 1: "float16", 2: "int8", 3: "int32", 4: "uint8", 6: "int16", 7: "uint16", 8: "uint32",
    9: "int64", 10: "uint64", 11: "float64", 12: "bool", 16: "complex64", 17: "complex128", 27: "bfloat16",
    33: "complex32", 34: "uint8", 35: "float8_e5m2", 36: "float8_e4m3fn", 37: "float8_e8m0fnu", 38: "uint8",
    39: "uint8", 40: "float4_e2m1fn_x2", 41: "uint8",
}  # fmt: skip
TORCH_DTYPES = {
    0: "uint8", 1: "int8", 2: "int16", 3: "int32", 4: "int64", 5: "float16", 6: "float32", 7: "float64",
    8: "complex32", 9: "complex64", 10: "complex128", 11: "bool", 15: "bfloat16", 23: "float8_e5m2",
    24: "float8_e4m3fn", 27: "uint16", 28: "uint32", 29: "uint64", 44: "float8_e8m0fnu",
    45: "float4_e2m1fn_x2",
}  # fmt: skip
HIFLOAT8, FLOAT4_E2M1, FLOAT4_E1M2 = 290, 296, 297
ACL_OFFSET = 256
# torch's ScalarType numbers end here.
TORCH_NUMBERS = 48


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
    elif _number(value_dtype) in (FLOAT4_E2M1, FLOAT4_E1M2):
        packed = 2
    heads = (num_query_heads, num_key_value_heads)
    attention, lse = _sizes(query, value, input_layout, heads, block_table is not None, packed)
    dtype = query.dtype
    if quant_scale_out is not None:
        dtype = torch.int8 if out_dtype is None else _dtype(out_dtype)
    elif query.dtype in (torch.int8, torch.float8_e4m3fn) or (
        query.dtype == torch.uint8 and _number(query_dtype) == HIFLOAT8
    ):
        # An out_dtype counts only here and above.
        dtype = torch.float16 if query_rope is None else query_rope.dtype
        dtype = dtype if out_dtype is None else _dtype(out_dtype)
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
    """A dtype's number, which must be one of torch's or above."""
    torch._check(
        dtype is None or 0 <= dtype < TORCH_NUMBERS or dtype >= ACL_OFFSET,
        lambda: f"{dtype} is the number of no dtype",
    )
    return dtype


def _dtype(number: int) -> torch.dtype:
    name = TORCH_DTYPES.get(number) or ACL_DTYPES.get(number - ACL_OFFSET)
    torch._check(name is not None and hasattr(torch, name), lambda: f"{number} is the number of no dtype")
    return getattr(torch, str(name))  # type: ignore[no-any-return]
