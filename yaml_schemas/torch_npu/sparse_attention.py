"""Rules of torch_npu's sparse attention that no expression can say.

Sources: the host code of the operators in torch_npu 2.13, compared call by call.
"""

from __future__ import annotations

import torch

Tensor = torch.Tensor


def npu_nsa_compress(
    input: Tensor,
    weight: Tensor,
    compress_block_size: int,
    compress_stride: int,
    *,
    actual_seq_len: list[int] | None = None,
) -> Tensor:
    """One row for each block of each sequence; `actual_seq_len` says where the sequences end."""
    torch._check(actual_seq_len is not None, lambda: "actual_seq_len must be given")
    torch._check(input.dim() > 2, lambda: "input must have 3 dims")
    rows, begin = 0, 0
    for end in actual_seq_len or ():
        length = end - begin
        if length >= compress_block_size:
            torch._check(compress_stride != 0, lambda: "compress_stride must not be 0")
            rows += (length - compress_block_size + compress_stride) // compress_stride
        begin = end
    return input.new_empty([rows, input.shape[1], input.shape[2]])


def npu_nsa_select_attention_infer(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    topk_indices: Tensor,
    scale_value: float,
    head_num: int,
    key_value_head_num: int,
    select_block_size: int,
    select_block_count: int,
    page_block_size: int,
    *,
    layout: str = "BSND",
    atten_mask: Tensor | None = None,
    block_table: Tensor | None = None,
    actual_seq_qlen: list[int] | None = None,
    actual_seq_kvlen: list[int] | None = None,
) -> Tensor:
    """The query with the heads and the size of value, in each of three layouts."""
    torch._check(layout in ("BSH", "BSND", "TND"), lambda: f"layout must be BSH, BSND or TND, not {layout}")
    if layout == "BSND":
        return query.new_empty([*query.shape[:3], value.shape[3]])
    torch._check(key_value_head_num > 0, lambda: "key_value_head_num must be positive")
    width = value.shape[2] // key_value_head_num
    return query.new_empty([*query.shape[:2], head_num * width if layout == "BSH" else width])
