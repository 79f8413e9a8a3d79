"""Tokens sent to the experts of other ranks (torch_npu 2.13)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from opkit.registration.dtypes import check_dtypes, dtype_from_int
from opkit.registration.machine import soc_at_least

_FLOAT4, _BLOCK_SCALE = (296, 297), 293
_INDICES = 128


def npu_moe_distribute_dispatch_v2(
    x: Tensor,
    expert_ids: Tensor,
    group_ep: str,
    ep_world_size: int,
    ep_rank_id: int,
    moe_expert_num: int,
    *,
    scales: Tensor | None = None,
    x_active_mask: Tensor | None = None,
    expert_scales: Tensor | None = None,
    elastic_info: Tensor | None = None,
    performance_info: Tensor | None = None,
    group_tp: str = "",
    tp_world_size: int = 0,
    tp_rank_id: int = 0,
    expert_shard_type: int = 0,
    shared_expert_num: int = 1,
    shared_expert_rank_num: int = 0,
    quant_mode: int = 0,
    global_bs: int = 0,
    expert_token_nums_type: int = 1,
    comm_alg: str = "",
    zero_expert_num: int = 0,
    copy_expert_num: int = 0,
    const_expert_num: int = 0,
    y_dtype: int | None = None,
    x_dtype: int | None = None,
    scales_dtype: int | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """What this rank may receive at most: rows, their scales and origins, and how many come from where."""
    torch._check(x.dim() == 2 and expert_ids.dim() == 2, lambda: "x and expert_ids must have 2 dims")
    torch._check(0 <= ep_rank_id < ep_world_size, lambda: f"there is no rank {ep_rank_id}")
    _check_shared(shared_expert_num, shared_expert_rank_num, ep_world_size)
    torch._check(expert_token_nums_type in (0, 1), lambda: "expert_token_nums_type must be 0 or 1")
    check_dtypes(y_dtype, x_dtype, scales_dtype)
    tokens, width, k = x.size(0), x.size(1), expert_ids.size(1)
    everywhere = global_bs or tokens * ep_world_size
    shared = expert_shard_type == 0 and ep_rank_id < shared_expert_rank_num
    experts, rows = 1, 0
    if not shared or elastic_info is not None:
        # With elastic ranks one for a shared expert may become one of the others.
        experts = moe_expert_num // (ep_world_size - shared_expert_rank_num)
        rows = everywhere * torch.sym_min(experts, k)
        experts = max(experts, 1) if shared else experts
    if shared_expert_rank_num and (shared or (elastic_info is not None and expert_shard_type == 0)):
        per_expert = shared_expert_rank_num // shared_expert_num
        groups = (ep_world_size + per_expert - 1) // per_expert
        rows = torch.sym_max(rows, everywhere // ep_world_size * groups)
    received = rows * max(1, tp_world_size)
    packed = y_dtype in _FLOAT4 and scales is None
    torch._check(not packed or width % 2 == 0, lambda: "the last dim of x must be even for a 4-bit y_dtype")
    dtype = x.dtype if quant_mode == 0 else torch.int8
    dtype = dtype if y_dtype is None else dtype_from_int(y_dtype)
    counts = ep_world_size * experts * (2 if tp_world_size == 2 else 1)
    if expert_scales is not None and not soc_at_least("950"):
        counts = ep_world_size * experts + everywhere * 2 * k * (ep_world_size // 8)
    return (
        x.new_empty([received, width // 2 if packed else width], dtype=dtype),
        _scales(x, scales, received, quant_mode, scales_dtype),
        x.new_empty([torch.sym_max(tokens * k, rows * _INDICES)], dtype=torch.int32),
        x.new_empty([experts], dtype=torch.int64),
        x.new_empty([counts], dtype=torch.int32),
        x.new_empty([tp_world_size], dtype=torch.int32),
        x.new_empty([rows], dtype=torch.float32),
    )


def _check_shared(experts: int, ranks: int, world: int) -> None:
    torch._check(0 <= ranks < world, lambda: f"shared_expert_rank_num must be 0 to {world - 1}: {ranks}")
    valid = (experts in (0, 1) and ranks == 0) or (0 < experts <= ranks and ranks % experts == 0)
    torch._check(valid, lambda: f"{experts} shared experts cannot lie on {ranks} ranks")


def _scales(x: Tensor, scales: Tensor | None, rows: Any, quant_mode: int, scales_dtype: int | None) -> Tensor:
    """A scale for each row; from 950 on one for each block of columns, or those given."""
    size, dtype, width = [rows], torch.float32, x.size(1)
    if quant_mode in (4, 5):
        dtype = dtype_from_int(_BLOCK_SCALE)
    elif quant_mode == 0 and x.dtype not in (torch.float16, torch.bfloat16):
        dtype = torch.float32 if scales is None else scales.dtype
        dtype = dtype if scales_dtype is None else dtype_from_int(scales_dtype)
    if soc_at_least("950"):
        if quant_mode == 0 and scales is not None:
            torch._check(scales.dim() > 1, lambda: "scales must have 2 dims")
            size.append(scales.size(1))
        elif quant_mode == 3:
            size.append((width + 127) // 128)
        elif quant_mode in (4, 5):
            size.append((width + 63) // 64 * 2)
    return x.new_empty(size, dtype=dtype)
