"""Results of products across devices and of hyper-connections (torch_npu 2.13)."""

from __future__ import annotations

from typing import Any

import torch


def npu_bmmV2(input: torch.Tensor, mat2: torch.Tensor, output_sizes: list[int]) -> torch.Tensor:
    """The product, of any number of dims from two on; `output_sizes` gives it another shape."""
    if output_sizes:
        return input.new_empty(output_sizes)
    torch._check(input.dim() > 1 and mat2.dim() > 1, lambda: "input and mat2 must have two dims or more")
    batch = torch.broadcast_shapes(input.shape[:-2], mat2.shape[:-2])
    return input.new_empty([*batch, input.shape[-2], mat2.shape[-1]])


def npu_gather_pa_kv_cache_functional(
    key_cache: torch.Tensor,
    value_cache: torch.Tensor,
    block_tables: torch.Tensor,
    seq_lens: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    *,
    seq_offset: torch.Tensor | None = None,
    is_seq_lens_cumsum: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Copies of key and value, which lie as these do."""
    return torch.empty_like(key), torch.empty_like(value)


def npu_mhc_pre(
    x: torch.Tensor,
    phi: torch.Tensor,
    alpha: torch.Tensor,
    bias: torch.Tensor,
    *,
    gamma: torch.Tensor | None = None,
    norm_eps: float = 9.9999999999999995e-07,
    hc_eps: float = 9.9999999999999995e-07,
    out_flag: int = 0,
    inner_precise: int = 0,
) -> tuple[torch.Tensor | None, ...]:
    """The input of the layer, two sets of weights, and with `out_flag` what the gradient needs."""
    torch._check(x.dim() in (3, 4), lambda: f"x must have 3 or 4 dims, but has {x.dim()}")
    torch._check(alpha.numel() in (2, 3), lambda: "alpha must have 2 or 3 elements")
    torch._check(out_flag in (0, 1), lambda: f"out_flag must be 0 or 1, but is {out_flag}")
    torch._check(inner_precise in (0, 1), lambda: f"inner_precise must be 0 or 1, but is {inner_precise}")
    for name, tensor in (("x", x), ("phi", phi), ("bias", bias)):
        torch._check(tensor.numel() > 0, lambda name=name: f"{name} must not be empty")
    *rows, streams, width = x.shape

    def new(*size: Any) -> torch.Tensor:
        return x.new_empty([*rows, *size], dtype=torch.float32)

    residual = new(streams, streams) if alpha.numel() == 3 else x.new_empty([1], dtype=torch.float32)
    kept = (new(), new(phi.shape[0]), new(streams)) if out_flag else (None, None, None)
    return x.new_empty([*rows, width]), new(streams), residual, *kept


def npu_chunk_gated_delta_rule(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    *,
    beta: torch.Tensor | None = None,
    initial_state: torch.Tensor | None = None,
    actual_seq_lengths: torch.Tensor | None = None,
    scale: float | None = None,
    g: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """What is read from the state, and a copy of it, which lies as it does."""
    for name, given in (("beta", beta), ("actual_seq_lengths", actual_seq_lengths), ("scale", scale)):
        torch._check(given is not None, lambda name=name: f"{name} must be given")
    if initial_state is None:
        raise ValueError("initial_state must be given")
    torch._check(value.numel() != 0, lambda: "value must not be empty")
    return value.new_empty(value.shape, dtype=torch.bfloat16), torch.empty_like(initial_state)


def npu_recurrent_gated_delta_rule_functional(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    state: torch.Tensor,
    *,
    beta: torch.Tensor | None = None,
    scale: float | None = None,
    actual_seq_lengths: torch.Tensor | None = None,
    ssm_state_indices: torch.Tensor | None = None,
    num_accepted_tokens: torch.Tensor | None = None,
    g: torch.Tensor | None = None,
    gk: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """What is read from the state, and a copy of it, which lies as it does."""
    torch._check(scale is not None, lambda: "scale must be given")
    return value.new_empty(value.shape, dtype=torch.bfloat16), torch.empty_like(state)


def npu_qkv_rms_norm_rope_cache_functional(
    qkv: torch.Tensor,
    q_gamma: torch.Tensor,
    k_gamma: torch.Tensor,
    cos: torch.Tensor,
    sin: torch.Tensor,
    index: torch.Tensor,
    q_out: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    qkv_size: list[int],
    head_nums: list[int],
    *,
    k_scale: torch.Tensor | None = None,
    v_scale: torch.Tensor | None = None,
    k_offset: torch.Tensor | None = None,
    v_offset: torch.Tensor | None = None,
    epsilon: float = 9.9999999999999995e-07,
    cache_mode: str = "PA_NZ",
    is_output_qkv: bool = False,
) -> tuple[torch.Tensor | None, ...]:
    """The parts of qkv or None, and copies of the caches, which lie as they do."""
    heads = head_nums if is_output_qkv else ()
    parts = [qkv.new_empty([qkv.shape[0], count * qkv_size[3]]) for count in heads] or [None, None, None]
    return *parts, *(torch.empty_like(cache) for cache in (q_out, k_cache, v_cache))
