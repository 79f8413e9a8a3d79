"""Values for some of torch_npu's own operators, after their own host code.

These are the operators that plain torch code reaches without naming them, such as
scaled_dot_product_attention, and those that most models for the NPU use. torch_npu's kernel runs first and
decides everything but the values: it checks the arguments, allocates the outputs and launches its aclnn
kernel, which the journal counts as uncomputed. A task after it writes the values. The results of a call with
options that are not known here, and of every other operator of torch_npu's, are poisoned and marked.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from opkit.cann import device, npu_inference_attention
from opkit.cann.aten import uncomputed_operators, with_npu_kernel
from opkit.cann.library import standin
from opkit.cann.operators import fill_defaults, find_operator, is_written
from opkit.cann.views import POISON, TaskViews, fill_bytes, tensors_in

if TYPE_CHECKING:
    import torch

_library: Any = None
_settled = threading.local()  # .launches: uncomputed launches of this thread whose results have values


def install_npu_values() -> int:
    """Puts values, or marks, behind torch_npu's own kernels, once in a process. Returns how many have values.

    A kernel without values here leaves its results poisoned and marked as uncomputed. Needs
    torch.library.get_kernel (torch 2.9); before, operators have no values and results no marks.
    """
    import torch

    global _library
    standin()
    get_kernel = getattr(torch.library, "get_kernel", None)
    if get_kernel is None:
        return 0
    names = _own_kernels()
    if _library is None:
        _library = {space: torch.library.Library(space, "IMPL") for space in (*_NAMESPACES, "aten")}
        for name in names:
            kernel = _kernel(name, get_kernel(name, "PrivateUse1"))
            space, _, short = name.partition("::")
            # Library.impl would refuse a reference for the same operator later.
            _library[space].m.impl(short, "PrivateUse1", kernel, True)
    return sum(name in VALUES for name in names)


def _own_kernels() -> list[str]:
    return [
        name for name in with_npu_kernel() if name.partition("::")[0] in _NAMESPACES and name not in _TELLS
    ] + uncomputed_operators()


_NAMESPACES = ("npu", "atb")
# Operators that only tell something about a tensor, or set something on the host.
_TELLS = frozenset({"npu::get_npu_format", "npu::get_storage_size", "npu::set_op_timeout_ms"})


def _kernel(name: str, host: Any) -> Callable[..., Any]:
    compute = VALUES.get(name)
    library = standin()

    def kernel(keyset: Any, *args: Any, **kwargs: Any) -> Any:
        before = library.uncomputed_launches - getattr(_settled, "launches", 0)
        with library.operator(name):
            # torch_npu's launch loses the GIL if Python called it and it raises: raise what it would, before.
            library.check_launch(name, device.current_stream())
            results = host.call_boxed(keyset, *args, **kwargs)
        left = library.uncomputed_launches - getattr(_settled, "launches", 0) - before
        if left > 0:
            named = _named(name, args, kwargs)
            if compute is None or _unknown(name, named):
                _mark(name, named, results)
            else:
                _submit(name, compute, named, results)
                _settled.launches = getattr(_settled, "launches", 0) + left
        return results

    return kernel


def _named(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    operator = find_operator(name)
    positional, keywords = fill_defaults(operator, args, kwargs)
    return {**dict(zip((argument.name for argument in operator._schema.arguments), positional)), **keywords}


def _submit(name: str, compute: Callable[..., Any], arguments: dict[str, Any], results: Any) -> None:
    views = TaskViews()
    outs = {argument.name for argument in find_operator(name)._schema.arguments if argument.is_out}
    given = {key: views.of(value) for key, value in arguments.items() if key not in outs}
    results = list(results) if isinstance(results, (list, tuple)) else [results]
    outputs = views.written(results)

    def task() -> None:
        for value, output in zip(compute(given), outputs):
            if value is not None:
                output.copy_(value)

    device.submit(device.Task(name, task, views), results[0].device.index)


def _mark(name: str, arguments: dict[str, Any], results: Any) -> None:
    """Poisons fresh results and out= arguments, and marks them and what is written in place."""
    schema = find_operator(name)._schema
    given = {tensor.data_ptr() for tensor in tensors_in(arguments) if tensor.device.type == "npu"}
    outs = [arguments[argument.name] for argument in schema.arguments if argument.is_out]
    made = [tensor for tensor in tensors_in([results]) if tensor.data_ptr() not in given] + tensors_in(outs)
    written = [arguments[argument.name] for argument in schema.arguments if is_written(argument)]
    made = [tensor for tensor in made if tensor.device.type == "npu"]
    views = TaskViews()
    poisoned = [views.written(tensor) for tensor in made]
    marked = [views.written(tensor) for tensor in tensors_in(written) if tensor.device.type == "npu"]

    def task() -> None:
        views.require_alive(name)
        for view in poisoned:
            fill_bytes(view, POISON)
        views.mark_written(name)

    if made or marked:
        device.launch(f"mark {name}", task, next(iter([*made, *tensors_in(written)])).device.index)


def _unknown(name: str, given: dict[str, Any]) -> bool:
    """Whether a call uses an option that its function does not know."""
    if name in npu_inference_attention.NAMES:
        return not npu_inference_attention.knows(name, given)
    if any(given[option] != plain for option, plain in _PLAIN.get(name, {}).items() if option in given):
        return True
    if name == "npu::npu_swiglu" and given["input"].size(given["dim"]) % 2:
        return True  # Its halves differ; what the kernel makes of that is not documented.
    if "input_layout" not in given:
        return False
    band = any(given[end] != npu_inference_attention.NO_BAND for end in ("pre_tockens", "next_tockens"))
    mode = given["sparse_mode"]
    return given["input_layout"] not in _LAYOUTS or mode not in (0, 1, 2, 3) or (mode < 2 and band)


_ATTENTION = {
    "pse": None, "padding_mask": None, "keep_prob": 1.0, "prefix": None, "actual_seq_qlen": None,
    "actual_seq_kvlen": None, "sink": None, "dropout_mask": None,
}  # fmt: skip
# The options that must have this value for the function to be right.
_PLAIN: dict[str, dict[str, Any]] = {
    "npu::npu_fusion_attention": _ATTENTION,
    "npu::npu_fusion_attention_grad_v3": _ATTENTION,
    "npu::npu_fusion_attention_v3": _ATTENTION,
    "npu::npu_rotary_mul": {"rotary_mode": "half", "rotate": None},
}
# Layout, with the heads as a dim of their own -> permutation to batch, heads, length, size.
_LAYOUTS = {"BNSD": (0, 1, 2, 3), "BSND": (0, 2, 1, 3), "BSH": (0, 2, 1, 3), "SBH": (1, 2, 0, 3)}


def _heads(x: torch.Tensor, layout: str, heads: int) -> torch.Tensor:
    if x.dim() == 3:
        x = x.unflatten(-1, (heads, -1))
    return x.permute(_LAYOUTS[layout])


class _Attention:
    """Softmax attention in float32, with every operand as batch, heads, length, size."""

    def __init__(self, given: dict[str, Any], scale: float) -> None:
        import torch

        self.layout, heads = given["input_layout"], given["head_num"]
        self.scale = scale
        self.query = _heads(given["query"], self.layout, heads).float()
        key, value = given["key"], given["value"]
        self.kv_heads = key.size(-1) // self.query.size(-1) if key.dim() == 3 else heads
        key, value = (_heads(x, self.layout, self.kv_heads).float() for x in (key, value))
        self.kv_heads = key.size(1)
        self.key, self.value = (x.repeat_interleave(heads // self.kv_heads, 1) for x in (key, value))
        scores = self.query @ self.key.mT * scale
        hidden = _hidden(given, scores.size(-2), scores.size(-1))
        if hidden is not None:
            scores = scores.masked_fill(hidden, torch.finfo(torch.float32).min)
        self.largest = scores.amax(-1, keepdim=True)
        weights = torch.exp(scores - self.largest)
        self.total = weights.sum(-1, keepdim=True)
        self.weights = weights / self.total

    def back(self, x: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
        """From batch, heads, length, size to the layout and dtype of an operand."""
        order = _LAYOUTS[self.layout]
        x = x.permute([order.index(axis) for axis in range(4)])
        return (x.flatten(2) if like.dim() == 3 else x).to(like.dtype)

    def grouped(self, x: torch.Tensor) -> torch.Tensor:
        """The sum over the query heads that share a key head."""
        return x.unflatten(1, (self.kv_heads, -1)).sum(2)


def _attention(given: dict[str, Any]) -> list[torch.Tensor]:
    run = _Attention(given, given["scale"])
    attention = run.back(run.weights @ run.value, given["query"])
    # The second and third results are for the backward: row maximum and sum, each eight times.
    return [attention, *(x.expand(*x.shape[:-1], 8) for x in (run.largest, run.total))]


def _attention_grad(given: dict[str, Any]) -> list[torch.Tensor]:
    run = _Attention(given, given["scale_value"])
    out = _heads(given["dy"], run.layout, given["head_num"]).float()
    weights = out @ run.value.mT
    scores = run.weights * (weights - (weights * run.weights).sum(-1, keepdim=True)) * run.scale
    return [
        run.back(scores @ run.key, given["query"]),
        run.back(run.grouped(scores.mT @ run.query), given["key"]),
        run.back(run.grouped(run.weights.mT @ out), given["value"]),
    ]


def _hidden(given: dict[str, Any], rows: int, columns: int) -> torch.Tensor | None:
    """Which scores are masked; sparse modes 2 and 3 are causal, from the first and from the last corner."""
    import torch

    mode, mask = given["sparse_mode"], given["atten_mask"]
    if mode in (2, 3):
        return torch.ones(rows, columns, dtype=torch.bool).triu(1 + (columns - rows if mode == 3 else 0))
    return None if mask is None else mask.bool()


def _rms_norm(given: dict[str, Any]) -> list[torch.Tensor]:
    import torch

    x, gamma = given["input"], given["gamma"]
    wide = x.float()
    rstd = torch.rsqrt(wide.square().mean(list(range(-gamma.dim(), 0)), keepdim=True) + given["epsilon"])
    return [(wide * rstd * gamma.float()).to(x.dtype), rstd]


def _swiglu(given: dict[str, Any]) -> list[torch.Tensor]:
    import torch

    first, second = given["input"].float().chunk(2, given["dim"])
    return [torch.nn.functional.silu(first) * second]


def _rotary_mul(given: dict[str, Any]) -> list[torch.Tensor]:
    import torch

    first, second = given["input"].chunk(2, -1)
    return [given["input"] * given["r1"] + torch.cat([-second, first], -1) * given["r2"]]


def _cast(given: dict[str, Any]) -> list[torch.Tensor]:
    return [given["input"].to(given["dtype"])]


def _scatter_update(given: dict[str, Any]) -> list[torch.Tensor]:
    """Each item of the batch gets its update at its own index along the axis."""
    done, updates, axis = given["input"].clone(), given["updates"], given["axis"]
    where = axis % done.dim() - 1
    for batch, first in enumerate(given["indices"].flatten().tolist()):
        done[batch].narrow(where, first, updates.size(axis)).copy_(updates[batch])
    return [done]


def _scatter_nd_update(given: dict[str, Any]) -> list[torch.Tensor]:
    done = given["input"].clone()
    done[given["indices"].long().unbind(-1)] = given["updates"]
    return [done]


VALUES: dict[str, Callable[[dict[str, Any]], Any]] = {
    **dict.fromkeys(npu_inference_attention.NAMES, npu_inference_attention.attention),
    "npu::_npu_dtype_cast": _cast,
    "npu::npu_fusion_attention": _attention,
    "npu::npu_fusion_attention_grad_v3": _attention_grad,
    "npu::npu_fusion_attention_v3": _attention,
    "npu::npu_rms_norm": _rms_norm,
    "npu::npu_rotary_mul": _rotary_mul,
    "npu::npu_scatter_nd_update": _scatter_nd_update,
    "npu::npu_scatter_nd_update_": _scatter_nd_update,
    "npu::npu_swiglu": _swiglu,
    "npu::scatter_update": _scatter_update,
    "npu::scatter_update_": _scatter_update,
}
