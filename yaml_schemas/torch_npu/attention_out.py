"""Attention of torch_npu 2.13 that writes to given tensors: the checks that no expression can say."""

from __future__ import annotations

import torch

from opkit.registration.machine import soc_at_least

# Dtype numbers by the bytes of one element: torch's, and from 256 on CANN's.
ITEM_SIZES = {
    1: (0, 1, 11, 23, 24, 44, 45, 258, 260, 268, 285, 290, 291, 292, 293, 296, 297),
    2: (2, 5, 15, 27, 257, 262, 263, 283),
    4: (3, 6, 8, 28, 256, 259, 264, 289),
    8: (4, 7, 9, 29, 265, 266, 267, 272),
    16: (10, 273),
}
# Of these, the dtypes of which a byte holds two elements, along the last dim.
FOUR_BITS = (45, 285, 296, 297)


def npu_fused_infer_attention_score_v2_out(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    *,
    query_rope: torch.Tensor | None = None,
    key_rope: torch.Tensor | None = None,
    pse_shift: torch.Tensor | None = None,
    atten_mask: torch.Tensor | None = None,
    actual_seq_qlen: list[int] | None = None,
    actual_seq_kvlen: list[int] | None = None,
    block_table: torch.Tensor | None = None,
    dequant_scale_query: torch.Tensor | None = None,
    dequant_scale_key: torch.Tensor | None = None,
    dequant_offset_key: torch.Tensor | None = None,
    dequant_scale_value: torch.Tensor | None = None,
    dequant_offset_value: torch.Tensor | None = None,
    dequant_scale_key_rope: torch.Tensor | None = None,
    quant_scale_out: torch.Tensor | None = None,
    quant_offset_out: torch.Tensor | None = None,
    quant_scale_p: torch.Tensor | None = None,
    learnable_sink: torch.Tensor | None = None,
    num_query_heads: int = 1,
    num_key_value_heads: int = 0,
    softmax_scale: float = 1.0,
    pre_tokens: int = 2147483647,
    next_tokens: int = 2147483647,
    input_layout: str = "BSH",
    sparse_mode: int = 0,
    block_size: int = 0,
    query_quant_mode: int = 0,
    key_quant_mode: int = 0,
    value_quant_mode: int = 0,
    inner_precise: int = 0,
    return_softmax_lse: bool = False,
    query_dtype: int | None = None,
    key_dtype: int | None = None,
    value_dtype: int | None = None,
    query_rope_dtype: int | None = None,
    key_rope_dtype: int | None = None,
    key_shared_prefix_dtype: int | None = None,
    value_shared_prefix_dtype: int | None = None,
    dequant_scale_query_dtype: int | None = None,
    dequant_scale_key_dtype: int | None = None,
    dequant_scale_value_dtype: int | None = None,
    dequant_scale_key_rope_dtype: int | None = None,
    out_dtype: int | None = None,
    workspace: torch.Tensor | None = None,
    out: list[torch.Tensor],
) -> tuple[torch.Tensor, torch.Tensor]:
    """The tensors of `out`. A dtype number must fit its tensor; one without a tensor does not count."""
    torch._check(len(out) == 2, lambda: "out must have 2 tensors")
    numbered = (
        (query, query_dtype),
        (key, key_dtype),
        (value, value_dtype),
        (query_rope, query_rope_dtype),
        (key_rope, key_rope_dtype),
        (dequant_scale_query, dequant_scale_query_dtype),
        (dequant_scale_key, dequant_scale_key_dtype),
        (dequant_scale_value, dequant_scale_value_dtype),
        (out[0], out_dtype),
    )
    for tensor, number in numbered:
        if tensor is not None and number is not None:
            fits = number in ITEM_SIZES.get(tensor.dtype.itemsize, ())
            fits = fits and (tensor.dim() > 0 or number not in FOUR_BITS)
            torch._check(fits, lambda: "a dtype number does not fit its tensor")
    return out[0], out[1]


def npu_fusion_attention_grad_v3_out(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    dy: torch.Tensor,
    head_num: int,
    input_layout: str,
    *,
    pse: torch.Tensor | None = None,
    padding_mask: torch.Tensor | None = None,
    atten_mask: torch.Tensor | None = None,
    softmax_max: torch.Tensor | None = None,
    softmax_sum: torch.Tensor | None = None,
    softmax_in: torch.Tensor | None = None,
    attention_in: torch.Tensor | None = None,
    scale_value: float = 1.0,
    keep_prob: float = 1.0,
    pre_tockens: int = 2147483647,
    next_tockens: int = 2147483647,
    inner_precise: int = 0,
    seed: torch.Tensor | None = None,
    offset: torch.Tensor | None = None,
    prefix: list[int] | None = None,
    actual_seq_qlen: torch.Tensor | None = None,
    actual_seq_kvlen: torch.Tensor | None = None,
    sparse_mode: int = 0,
    gen_mask_parallel: bool = True,
    sync: bool = False,
    softmax_layout: str = "",
    sink: torch.Tensor | None = None,
    workspace: torch.Tensor | None = None,
    out: list[torch.Tensor],
) -> tuple[torch.Tensor, ...]:
    """The tensors of `out`. Lengths are read on the CPU; with a sink nothing is computed, and none needed."""
    torch._check(not soc_at_least("950"), lambda: "Ascend950 does not have this operator")
    torch._check(len(out) == 5, lambda: "out must have 5 tensors")
    for tensor in (query, key, value, dy):
        torch._check(tensor.dim() in (3, 4), lambda: "query, key, value and dy must have 3 or 4 dims")
    torch._check(0 < keep_prob <= 1, lambda: f"keep_prob must be in (0, 1], but got {keep_prob}")
    is_tnd = input_layout.upper() == "TND"
    torch._check(workspace is None or is_tnd, lambda: "a workspace is taken with the layout TND only")
    lengths = (actual_seq_qlen, actual_seq_kvlen)
    for length in lengths:
        torch._check(length is None or length.dim() == 1, lambda: "lengths must have 1 dim")
        torch._check(length is None or length.device.type == "cpu", lambda: "lengths must be on the CPU")
    if sink is None:
        given = all(length is not None and length.numel() > 0 for length in lengths)
        torch._check(given, lambda: "actual_seq_qlen and actual_seq_kvlen are needed")
    if keep_prob < 1:
        _check_random_state(seed)
        _check_random_state(offset)
    return tuple(out)


def _check_random_state(state: torch.Tensor | None) -> None:
    """Where elements are dropped, the seed and the offset are read on the CPU."""
    is_number = state is not None and state.numel() == 1 and state.device.type == "cpu"
    torch._check(is_number, lambda: "seed and offset must each be one number on the CPU")
    is_whole = state is not None and not state.dtype.is_floating_point and not state.dtype.is_complex
    torch._check(is_whole, lambda: "seed and offset must be integers")
