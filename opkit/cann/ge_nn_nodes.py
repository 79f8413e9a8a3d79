"""The standard Ascend IR nodes of neural networks: activations and normalisations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opkit.cann.ge_attention import fused_infer_attention_score
from opkit.cann.ge_nodes import Compute, NodeCall
from opkit.errors import OpkitError

if TYPE_CHECKING:
    import torch


def _softmax(call: NodeCall) -> Any:
    import torch

    axes = call.attr("axes", [-1])
    if len(axes) != 1:
        raise OpkitError(f"cannot interpret {call.node.type} over axes {axes} (node {call.node.name})")
    name = "x" if call.node.type == "SoftmaxV2" else "logits"
    function = torch.softmax if call.node.type == "SoftmaxV2" else torch.log_softmax
    dtype = torch.float32 if call.attr("half_to_float", False) else None
    return function(call[name], axes[0], dtype=dtype)


def _layer_norm_v4(call: NodeCall) -> Any:
    import torch

    return list(
        torch.native_layer_norm(
            call["x"],
            call.ints("normalized_shape"),
            call.get("gamma"),
            call.get("beta"),
            call.attr("epsilon", 1e-5),
        )
    )


def _rms_norm(call: NodeCall) -> Any:
    return _normalised(call["x"], call["gamma"], call.attr("epsilon", 1e-6))


def _swiglu(call: NodeCall) -> Any:
    import torch

    first, second = call["x"].chunk(2, call.attr("dim", -1))
    return torch.nn.functional.silu(first) * second


def _gelu(call: NodeCall) -> Any:
    import torch

    approximate = call.attr("approximate", "none" if call.node.type == "GeluV2" else "tanh")
    return torch.nn.functional.gelu(call["x"], approximate=approximate)


def _swish(call: NodeCall) -> Any:
    import torch

    return call["x"] * torch.sigmoid(call["x"] * call.attr("scale", 1.0))


def _normalised(x: torch.Tensor, gamma: torch.Tensor, epsilon: float) -> list[torch.Tensor]:
    import torch

    dims = list(range(-gamma.dim(), 0))
    wide = x.float()
    rstd = torch.rsqrt(wide.square().mean(dims, keepdim=True) + epsilon)
    return [(wide * rstd * gamma.float()).to(x.dtype), rstd]


def _add_rms_norm(call: NodeCall) -> Any:
    total = call["x1"] + call["x2"]
    return [*_normalised(total, call["gamma"], call.attr("epsilon", 1e-6)), total]


def _rotary_mul(call: NodeCall) -> Any:
    """Rotary embedding in half mode: the two halves of the last dim are the parts of a complex number."""
    import torch

    first, second = call["x"].chunk(2, -1)
    return call["x"] * call["r1"] + torch.cat([-second, first], -1) * call["r2"]


def _functional(function: str, attr: str = "", default: float = 0.0) -> Compute:
    """A node that is one function of torch.nn.functional, with at most one attribute."""

    def compute(call: NodeCall) -> Any:
        import torch

        extra = [call.attr(attr, default)] if attr else []
        return getattr(torch.nn.functional, function)(call["x"], *extra)

    return compute


NETWORK: dict[str, Compute] = {
    "AddRmsNorm": _add_rms_norm,
    "FusedInferAttentionScore": fused_infer_attention_score,
    "Gelu": _gelu,
    "GeluV2": _gelu,
    "HardSwish": _functional("hardswish"),
    "LayerNormV4": _layer_norm_v4,
    "LeakyRelu": _functional("leaky_relu", "negative_slope", 0.0),
    "LogSigmoid": _functional("logsigmoid"),
    "LogSoftmaxV2": _softmax,
    "Mish": _functional("mish"),
    "RmsNorm": _rms_norm,
    "RotaryMul": _rotary_mul,
    "SoftmaxV2": _softmax,
    "SwiGlu": _swiglu,
    "Swish": _swish,
}
