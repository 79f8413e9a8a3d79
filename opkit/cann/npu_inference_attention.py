"""Values of npu_fused_infer_attention_score and its second version, with and without a paged KV cache."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from opkit.cann.operators import find_operator

if TYPE_CHECKING:
    import torch

NAMES = tuple(
    f"npu::npu_fused_infer_attention_score{version}{form}" for version in ("", "_v2") for form in ("", ".out")
)
# The names that one version has for what another calls differently.
_RENAMED = {
    "actual_seq_qlen": "actual_seq_lengths", "actual_seq_kvlen": "actual_seq_lengths_kv",
    "num_query_heads": "num_heads", "softmax_scale": "scale", "return_softmax_lse": "softmax_lse_flag",
}  # fmt: skip
_USED = frozenset(
    (
        "query", "key", "value", "atten_mask", "actual_seq_lengths", "actual_seq_lengths_kv", "block_table",
        "num_heads", "num_key_value_heads", "scale", "input_layout", "sparse_mode", "softmax_lse_flag",
        "inner_precise", "block_size", "workspace", "out",
    )
)  # fmt: skip
NO_BAND = 2147483647  # pre_tokens and next_tokens that hide nothing
# Permutation to heads, length, size of one sequence of the batch (TND has no batch).
_LAYOUTS = {"BNSD": (0, 1, 2), "BSND": (1, 0, 2), "BSH": (1, 0, 2), "TND": (1, 0, 2)}


def knows(name: str, given: dict[str, Any]) -> bool:
    """Whether a call uses only options that `attention` takes into account."""
    defaults = {argument.name: argument.default_value for argument in find_operator(name)._schema.arguments}
    plain = all(
        value is None or (not _is_tensor(value) and value == defaults[key])
        for key, value in given.items()
        if _RENAMED.get(key, key) not in _USED
    )
    return bool(plain and not why_unknown(_named(given)))


def why_unknown(given: dict[str, Any]) -> str:
    """Which of the options that `attention` looks at has a value that it does not know; empty if none has."""
    if given["input_layout"] not in _LAYOUTS:
        return f"input_layout={given['input_layout']!r}"
    if given["sparse_mode"] not in (0, 2, 3):
        return f"sparse_mode={given['sparse_mode']}"
    if given["block_table"] is not None and given["actual_seq_lengths_kv"] is None:
        return "block_table and no actual_seq_lengths_kv"
    if given["input_layout"] == "TND" and not (
        given["actual_seq_lengths"] and given["actual_seq_lengths_kv"]
    ):
        return "input_layout='TND' and not both lengths"
    return ""


def _is_tensor(value: Any) -> bool:
    import torch

    return isinstance(value, torch.Tensor)


def _named(given: dict[str, Any]) -> dict[str, Any]:
    return {_RENAMED.get(key, key): value for key, value in given.items()}


@dataclass(frozen=True)
class _Sequence:
    """One sequence of the batch: query, key and value as heads, length, size, and where its output goes."""

    query: torch.Tensor
    key: torch.Tensor
    value: torch.Tensor
    batch: int
    first: int  # in a TND tensor


def attention(given: dict[str, Any]) -> list[torch.Tensor]:
    """The attention and, if asked for, the logarithm of the sum of exponentials; rows without query are 0."""
    import torch

    given = _named(given)
    query, layout = given["query"], given["input_layout"]
    heads = given["num_heads"]
    out = torch.zeros(_with_heads(query, heads, layout).shape, dtype=torch.float32)
    # The sum has the heads before the length, but for TND.
    sizes = [*out.shape[:-1], 1] if layout in ("BNSD", "TND") else [out.size(0), heads, out.size(1), 1]
    total = torch.zeros(sizes, dtype=torch.float32)
    for item in _sequences(given, heads):
        result, sums = _one(item, given, heads // item.key.size(0))
        rows = slice(item.first, item.first + item.query.size(1))
        place = out[rows].transpose(0, 1) if layout == "TND" else out[item.batch].permute(_LAYOUTS[layout])
        place[:, : result.size(1)] = result
        (total[rows].transpose(0, 1) if layout == "TND" else total[item.batch])[:, : sums.size(1)] = sums
    done = out.flatten(2) if layout == "BSH" else out
    return [done.to(query.dtype), total if given["softmax_lse_flag"] else torch.zeros(())]


def _one(item: _Sequence, given: dict[str, Any], group: int) -> tuple[torch.Tensor, torch.Tensor]:
    import torch

    key, value = (x.float().repeat_interleave(group, 0) for x in (item.key, item.value))
    scores = item.query.float() @ key.mT * given["scale"]
    rows, columns = scores.shape[1:]
    hidden = torch.zeros(rows, columns, dtype=torch.bool)
    if given["sparse_mode"]:
        hidden = torch.ones_like(hidden).triu(1 + (columns - rows if given["sparse_mode"] == 3 else 0))
    elif given["atten_mask"] is not None:
        mask = given["atten_mask"].bool()
        mask = mask[item.batch if mask.size(0) > 1 else 0] if mask.dim() > 2 else mask
        hidden = (mask if mask.dim() == 2 else mask[0])[:rows, :columns]
    scores = scores.masked_fill(hidden, -torch.inf)
    sums = scores.logsumexp(-1, keepdim=True)
    weights = torch.where(sums.isinf(), 0.0, torch.exp(scores - sums))  # a row that sees nothing is 0
    return weights @ value, sums


def _sequences(given: dict[str, Any], heads: int) -> list[_Sequence]:
    layout, kv_heads = given["input_layout"], given["num_key_value_heads"] or heads
    query = _with_heads(given["query"], heads, layout)
    q_lengths, kv_lengths = given["actual_seq_lengths"], given["actual_seq_lengths_kv"]
    count = len(q_lengths) if layout == "TND" else query.size(0)
    found = []
    for batch in range(count):
        first = q_lengths[batch - 1] if layout == "TND" and batch else 0
        if layout == "TND":
            q = query[first : q_lengths[batch]].permute(_LAYOUTS[layout])
        else:
            q = query[batch].permute(_LAYOUTS[layout])[:, : _at(q_lengths, batch)]
        if given["block_table"] is not None:
            pages = given["block_table"][batch].tolist()
            key, value = (
                _paged(given[name], pages, kv_lengths[batch], kv_heads) for name in ("key", "value")
            )
        elif layout == "TND":
            start = kv_lengths[batch - 1] if batch else 0
            key, value = (given[name][start : kv_lengths[batch]].transpose(0, 1) for name in ("key", "value"))
        else:
            kept = _at(kv_lengths, batch)
            key, value = (
                _with_heads(given[name], kv_heads, layout)[batch].permute(_LAYOUTS[layout])[:, :kept]
                for name in ("key", "value")
            )
        found.append(_Sequence(q, key, value, batch, first))
    return found


def _at(lengths: Any, batch: int) -> int | None:
    """The length of a sequence; one length is that of all, none is the whole."""
    if not lengths:
        return None
    return int(lengths[batch if len(lengths) > 1 else 0])


def _with_heads(x: torch.Tensor, heads: int, layout: str) -> torch.Tensor:
    """BSH with the heads as a dim of their own; the other layouts have them."""
    return x.unflatten(-1, (heads, -1)) if layout == "BSH" else x


def _paged(cache: torch.Tensor, pages: list[int], length: int, heads: int) -> torch.Tensor:
    """The keys or values of one sequence: blocks of (size, heads * width), or of (heads, size, width)."""
    import torch

    block = cache.size(1) if cache.dim() == 3 else cache.size(2)
    used = cache[torch.tensor(pages[: -(-length // block)])]
    if cache.dim() == 3:
        used = used.unflatten(-1, (heads, -1)).transpose(1, 2)
    return used.transpose(0, 1).flatten(1, 2)[:, :length]
