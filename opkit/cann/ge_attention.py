"""The Ascend IR node FusedInferAttentionScore: the values that the operator of torch_npu has in eager."""

from __future__ import annotations

from typing import Any

from opkit.cann import npu_inference_attention
from opkit.cann.ge_nodes import NodeCall
from opkit.errors import OpkitError

_INPUTS = (
    "query",
    "key0",
    "value0",
    "atten_mask",
    "actual_seq_lengths",
    "actual_seq_lengths_kv",
    "block_table",
)
# The attributes that must have this value for the function to be right.
_PLAIN = {
    "pre_tokens": npu_inference_attention.NO_BAND, "next_tokens": npu_inference_attention.NO_BAND,
    "antiquant_mode": 0, "key_antiquant_mode": 0, "value_antiquant_mode": 0, "query_quant_mode": 0,
    "pse_type": 0, "out_dtype": 0,
}  # fmt: skip


def fused_infer_attention_score(call: NodeCall) -> Any:
    """The attention and the sums of exponentials. Raises OpkitError for an input or option not known here."""
    more = [item.name for item in call.node.inputs if item.source is not None and item.name not in _INPUTS]
    if more:
        raise OpkitError(
            f"cannot interpret {call.node.type} with the input {', '.join(more)} (node {call.node.name})"
        )
    for name, value in _PLAIN.items():
        call.expect(name, value, default=value)
    (
        call.attr("block_size"),
        call.attr("inner_precise"),
    )  # paging is read off the cache; precision is the kernel's
    given = {
        "query": call["query"], "key": call["key0"], "value": call["value0"],
        "atten_mask": call.get("atten_mask"), "block_table": call.get("block_table"),
        "actual_seq_lengths": _lengths(call, "actual_seq_lengths"),
        "actual_seq_lengths_kv": _lengths(call, "actual_seq_lengths_kv"),
        "num_heads": call.required("num_heads"), "scale": call.attr("scale", 1.0),
        "num_key_value_heads": call.attr("num_key_value_heads", 0),
        "input_layout": call.attr("input_layout", "BSH"), "sparse_mode": call.attr("sparse_mode", 0),
        "softmax_lse_flag": call.attr("softmax_lse_flag", False),
    }  # fmt: skip
    unknown = npu_inference_attention.why_unknown(given)
    if unknown:
        raise OpkitError(f"cannot interpret {call.node.type} with {unknown} (node {call.node.name})")
    attended, sums = npu_inference_attention.attention(given)
    return [attended, sums if given["softmax_lse_flag"] else sums.new_empty(0)]


def _lengths(call: NodeCall, name: str) -> list[int] | None:
    return None if call.get(name) is None else call.ints(name)
