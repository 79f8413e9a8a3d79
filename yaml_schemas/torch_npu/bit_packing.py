"""Rules of torch_npu's compression operators that no expression can say."""

from __future__ import annotations

import torch

Tensor = torch.Tensor


def npu_hans_encode_out(
    input: Tensor, statistic: bool = False, reshuff: bool = False, *, out: list[Tensor]
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The four tensors of `out` as they are (op-plugin, torch_npu 2.13)."""
    torch._check(len(out) == 4, lambda: f"out must be 4 tensors, got {len(out)}")
    pdf, mantissa, fixed, var = out
    return pdf, mantissa, fixed, var
