"""Rules of torch_npu's LSTM and GRU over all layers: lists, and results that inference leaves out.

Sources: the host code of the operators in torch_npu 2.13, compared call by call.
"""

from __future__ import annotations

from typing import Any

import torch

Tensor = torch.Tensor


def _time_and_batch(input: Tensor, batch_first: bool | None, batch_sizes: Tensor | None) -> tuple[Any, Any]:
    """The numbers of steps and of sequences; `batch_sizes` says that the input is packed."""
    if batch_sizes is None:
        return (input.shape[1], input.shape[0]) if batch_first else (input.shape[0], input.shape[1])
    time = batch_sizes.shape[0]
    torch._check(time > 0, lambda: "batch_sizes must name at least one step")
    torch._check(input.shape[0] % time == 0, lambda: "every step of a packed input must have the same batch")
    return time, input.shape[0] // time


def _given(batch_sizes: Tensor | None) -> Tensor | None:
    return None if batch_sizes is None or batch_sizes.numel() == 0 else batch_sizes


def _sequence(time: Any, batch: Any, hidden: Any, batch_first: bool | None) -> tuple[Any, ...]:
    return (batch, time, hidden) if batch_first else (time, batch, hidden)


def _stacked(num_layers: int, bidirectional: bool) -> int:
    return num_layers * (2 if bidirectional else 1)


def _same_device(*tensors: Tensor | None) -> None:
    devices = {tensor.device.type for tensor in tensors if tensor is not None}
    torch._check(len(devices) == 1, lambda: "all tensors must be on the same device")


def lstm(
    input: Tensor,
    hx: list[Tensor],
    params: list[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    *,
    batch_first: bool | None = False,
    batch_sizes: Tensor | None = None,
) -> tuple[Tensor | None, ...]:
    """The output, both last states, and what the backward needs: i, j, f, o, h, c, tanh(c)."""
    _same_device(input, batch_sizes)
    time, batch = _time_and_batch(input, batch_first, batch_sizes)
    stacked, hidden = _stacked(num_layers, bidirectional), params[0].shape[0] // 4
    output = _sequence(time, batch, hidden * (2 if bidirectional else 1), batch_first)
    state = (stacked, batch, hidden)
    results = [input.new_empty(output), input.new_empty(state), input.new_empty(state)]
    if train:
        return (*results, *(input.new_empty((stacked, time, batch, hidden)) for _ in range(7)))
    return (*results, None, None, None, None, input.new_empty(stacked), input.new_empty(stacked), None)


def lstm_backward(
    grad_y: Tensor,
    grad_hy: Tensor,
    grad_cy: Tensor,
    input: Tensor,
    hx: list[Tensor],
    params: list[Tensor],
    i: Tensor,
    j: Tensor,
    f: Tensor,
    o: Tensor,
    h: Tensor,
    c: Tensor,
    tanhc: Tensor,
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    *,
    batch_first: bool | None = False,
    batch_sizes: Tensor | None = None,
) -> tuple[Tensor, list[Tensor], list[Tensor]]:
    """Gradients of the input, of both states, and of the parameters: all in the input's dtype."""
    packed = _given(batch_sizes)
    torch._check(input.dim() > (1 if packed is not None else 2), lambda: "input has too few dims")
    _, batch = _time_and_batch(input, batch_first, packed)
    state = (_stacked(num_layers, bidirectional), batch, params[0].shape[0] // 4)
    return (
        input.new_empty(input.shape[: 3 if packed is None else 2]),
        [input.new_empty(state) for _ in range(2)],
        [input.new_empty(param.shape) for param in params],
    )


def gru(
    input: Tensor,
    hx: Tensor,
    params: list[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    *,
    batch_first: bool | None = False,
    batch_sizes: Tensor | None = None,
) -> tuple[Tensor | None, ...]:
    """The output, the last state, and the gates that the backward needs."""
    _same_device(input, batch_sizes)
    time, batch = _time_and_batch(input, batch_first, _given(batch_sizes))
    stacked, hidden = _stacked(num_layers, bidirectional), params[0].shape[0] // 3
    output = _sequence(time, batch, hidden * (2 if bidirectional else 1), batch_first)
    results = [input.new_empty(output), input.new_empty((stacked, batch, hidden))]
    gate = (stacked, time, batch, hidden)
    return (*results, *(input.new_empty(gate) if train else None for _ in range(5)))


def gru_backward(
    grad_y: Tensor,
    grad_h: Tensor,
    input: Tensor,
    hx: Tensor,
    params: list[Tensor],
    r: Tensor,
    z: Tensor,
    n: Tensor,
    h_n: Tensor,
    h: Tensor,
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    *,
    batch_first: bool | None = False,
    batch_sizes: Tensor | None = None,
) -> tuple[Tensor, Tensor, list[Tensor]]:
    """Gradients of the input, of the state, and of the parameters: all in the input's dtype."""
    packed = _given(batch_sizes)
    _, batch = _time_and_batch(input, batch_first, packed)
    state = (_stacked(num_layers, bidirectional), batch, params[0].shape[0] // 3)
    return (
        input.new_empty(input.shape if packed is None else input.shape[:2]),
        input.new_empty(state),
        [input.new_empty(param.shape) for param in params],
    )
