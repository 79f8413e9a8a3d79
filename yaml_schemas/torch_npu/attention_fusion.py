"""Results of torch_npu's fused attention for training, for each layout of its tensors (torch_npu 2.13)."""

from __future__ import annotations

from typing import Any

import torch

from opkit.registration.machine import soc_at_least

# Its number among torch_npu's dtypes.
_HIFLOAT8 = 290
_LAYOUTS = ("BSH", "SBH", "BNSD", "BSND", "TND")


def npu_fusion_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    head_num: int,
    input_layout: str,
    pse: torch.Tensor | None = None,
    padding_mask: torch.Tensor | None = None,
    atten_mask: torch.Tensor | None = None,
    scale: float = 1.0,
    keep_prob: float = 1.0,
    pre_tockens: int = 2147483647,
    next_tockens: int = 2147483647,
    inner_precise: int = 0,
    prefix: list[int] | None = None,
    actual_seq_qlen: list[int] | None = None,
    actual_seq_kvlen: list[int] | None = None,
    sparse_mode: int = 0,
    gen_mask_parallel: bool = True,
    sync: bool = False,
    softmax_layout: str = "",
    sink: torch.Tensor | None = None,
    dropout_mask: torch.Tensor | None = None,
    seed: int = 0,
    offset: int = 0,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, int, int, int]:
    """Attention, maximum and sum of softmax with 8 equal numbers each, and an empty fourth result."""
    lengths = (actual_seq_qlen, actual_seq_kvlen)
    numbers = _numbers_of_mask(query, key, head_num, input_layout, *lengths, keep_prob)
    return *_attention(query, key, value, head_num, input_layout, query.dtype, 8, keep_prob), 0, 0, numbers


def npu_fusion_attention_v2(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    head_num: int,
    input_layout: str,
    *,
    pse: torch.Tensor | None = None,
    padding_mask: torch.Tensor | None = None,
    atten_mask: torch.Tensor | None = None,
    query_rope: torch.Tensor | None = None,
    key_rope: torch.Tensor | None = None,
    scale: float = 1.0,
    keep_prob: float = 1.0,
    pre_tokens: int = 2147483647,
    next_tokens: int = 2147483647,
    inner_precise: int = 0,
    prefix: list[int] | None = None,
    actual_seq_qlen: list[int] | None = None,
    actual_seq_kvlen: list[int] | None = None,
    sparse_mode: int = 0,
    gen_mask_parallel: bool = True,
    sync: bool = False,
    pse_type: int = 1,
    q_start_idx: list[int] | None = None,
    kv_start_idx: list[int] | None = None,
    softmax_layout: str = "",
    sink: torch.Tensor | None = None,
    dropout_mask: torch.Tensor | None = None,
    seed: int = 0,
    offset: int = 0,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, int, int, int]:
    """Like `npu_fusion_attention`."""
    rope = query_rope is not None or key_rope is not None
    torch._check(
        not rope or soc_at_least("950") or bool(actual_seq_qlen and actual_seq_kvlen),
        lambda: "with query_rope or key_rope, actual_seq_qlen and actual_seq_kvlen must be given",
    )
    lengths = (actual_seq_qlen, actual_seq_kvlen)
    numbers = _numbers_of_mask(query, key, head_num, input_layout, *lengths, keep_prob)
    return *_attention(query, key, value, head_num, input_layout, query.dtype, 8, keep_prob), 0, 0, numbers


def npu_quant_fusion_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    head_num: int,
    input_layout: str,
    *,
    d_scale_q: torch.Tensor,
    d_scale_k: torch.Tensor,
    d_scale_v: torch.Tensor,
    p_scale: torch.Tensor | None = None,
    scale: float = 1.0,
    query_dtype: int | None = None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, int, int, int]:
    """Attention in bfloat16, and one number each of the maximum and the sum of softmax."""
    torch._check(
        query.element_size() > 1 or query_dtype == _HIFLOAT8 or not soc_at_least("950"),
        lambda: "query_dtype must be hifloat8 where query has 8 bits",
    )
    numbers = _numbers_of_mask(query, key, head_num, input_layout, None, None, 1.0)
    return *_attention(query, key, value, head_num, input_layout, torch.bfloat16, 1, 1.0), 0, 0, numbers


def _attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    head_num: int,
    layout: str,
    dtype: torch.dtype,
    copies: int,
    keep_prob: float,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        torch._check(tensor.dim() in (3, 4), lambda name=name: f"{name} must have 3 or 4 dims")
    torch._check(layout in _LAYOUTS, lambda: f"input_layout {layout} is unknown")
    torch._check(head_num > 0, lambda: f"head_num must be greater than 0, but got {head_num}")
    torch._check(0 < keep_prob <= 1, lambda: f"keep_prob must be above 0 and at most 1, but is {keep_prob}")
    torch._check(query.dim() >= len(layout), lambda: f"query must have {len(layout)} dims for {layout}")
    dims = dict(zip(layout, query.shape))
    attention = [*query.shape[: len(layout) - 1], _last_dim(query, key, value, head_num, layout)]
    if layout == "TND":
        softmax = [dims["T"], dims["N"], copies]
    else:
        softmax = [dims["B"], head_num, dims["S"], copies]
    return (
        query.new_empty(attention, dtype=dtype),
        query.new_empty(softmax, dtype=torch.float32),
        query.new_empty(softmax, dtype=torch.float32),
        query.new_empty([0], dtype=dtype),
    )


def _last_dim(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, head_num: int, layout: str) -> Any:
    """The head dim of value; in layouts that join heads and head dim, as often as query has heads."""
    if "D" in layout:
        return value.shape[len(layout) - 1]
    head_dim = query.shape[2] // head_num
    if head_dim == 0 or key.shape[2] == 0 or key.shape[2] // head_dim == 0:
        return head_num * head_dim
    return head_num * (value.shape[2] // (key.shape[2] // head_dim))


def _numbers_of_mask(
    query: torch.Tensor,
    key: torch.Tensor,
    head_num: int,
    layout: str,
    query_ends: list[int] | None,
    key_ends: list[int] | None,
    keep_prob: float,
) -> int:
    """How many numbers a dropout mask has: one for each head and each pair of a query and a key."""
    if layout == "TND":
        torch._check(
            bool(query_ends) and len(query_ends or ()) == len(key_ends or ()),
            lambda: "actual_seq_qlen and actual_seq_kvlen must be given, and equally long",
        )
        lengths = zip(_lengths(query_ends or []), _lengths(key_ends or []))
        return _constant(query.shape[1] * sum(queries * keys for queries, keys in lengths), keep_prob)
    place = layout.find("S")
    if place < 0 or key.dim() <= place or query.dim() < len(layout):
        return 0
    numbers = query.shape[layout.index("B")] * head_num * query.shape[place] * key.shape[place]
    return _constant(numbers, keep_prob)


def _constant(number: Any, keep_prob: float) -> int:
    """The number. The schema says int: a graph fixes the sizes it is made of, or has the constant 0.

    It is read only where something is dropped; only there sizes are fixed for it.
    """
    return int(number) if isinstance(number, int) or keep_prob < 1 else 0


def _lengths(ends: list[int]) -> list[int]:
    """The lengths of the sequences that end there."""
    return [end - start for start, end in zip([0, *ends], ends)]


def npu_fused_attention_score_backward(
    grad_output: torch.Tensor,
    softmax_output: torch.Tensor,
    query_layer: torch.Tensor,
    key_layer: torch.Tensor,
    value_layer: torch.Tensor,
    mask: torch.Tensor,
    scale: float,
    keep_prob: float,
    query_transpose: bool = False,
    key_transpose: bool = False,
    value_transpose: bool = False,
    dx_transpose: bool = False,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Gradients of [batch, heads, sequence, hidden], with heads inside of the sequence in memory."""
    batch, heads, sequence, hidden = query_layer.shape

    def gradient() -> torch.Tensor:
        strides = [sequence * heads * hidden, hidden, heads * hidden, 1]
        return grad_output.new_empty_strided([batch, heads, sequence, hidden], strides)

    return gradient(), gradient(), gradient()
