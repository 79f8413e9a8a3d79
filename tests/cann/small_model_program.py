"""A decoding step of a small model on one backend, against the CPU. Run by test_small_model.py.

Attention over a KV cache that the step updates, matrix products, normalisation and two custom operators, one
of which writes its argument.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
import torch.nn.functional as F
import torch_npu

from opkit.cann import device
from opkit.cann.ge_custom import NodeSpec, register_node
from opkit.cann.library import standin
from opkit.cann.reference import bind_reference, kernel_calls

WIDTH, HEADS, LENGTH, BATCH = 24, 3, 10, 2

library = torch.library.Library("opkitsmall", "DEF")
library.define("gate(Tensor x, Tensor? bias, float scale) -> (Tensor, Tensor)")
library.define("count_(Tensor(a!) seen, Tensor ids) -> ()")
library.impl("gate", lambda x, bias, scale: (torch.empty_like(x), x.new_empty(x.shape[:-1])), "Meta")
library.impl("count_", lambda seen, ids: None, "Meta")


def gate(x, bias, scale):
    y = x * torch.sigmoid(x * scale)
    return (y if bias is None else y + bias), y.sum(-1)


def count_(seen, ids):
    seen.index_add_(0, ids, torch.ones(ids.shape, dtype=seen.dtype))


# On the CPU the operators are their reference functions.
library.impl("gate", gate, "CPU")
library.impl("count_", count_, "CPU")


def put(cache, position, new):
    """The update of the cache as models for the NPU write it."""
    if cache.device.type == "npu":
        torch_npu.scatter_update_(cache, position, new, 2)
    else:
        for batch, first in enumerate(position.tolist()):
            cache[batch, :, first] = new[batch, :, 0]


class Step(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(16, WIDTH)
        self.qkv = torch.nn.Linear(WIDTH, 3 * WIDTH)
        self.out = torch.nn.Linear(WIDTH, WIDTH)
        self.weight = torch.nn.Parameter(torch.rand(WIDTH))
        self.head = torch.nn.Linear(WIDTH, 16, bias=False)

    def norm(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight

    def forward(self, ids, position, mask, keys, values, seen):
        x = self.embedding(ids)
        q, k, v = self.qkv(self.norm(x)).view(BATCH, 3, HEADS, -1).unbind(1)
        put(keys, position, k.unsqueeze(2))
        put(values, position, v.unsqueeze(2))
        scores = (q.unsqueeze(2) @ keys.transpose(-1, -2)) * q.size(-1) ** -0.5
        weights = F.softmax(scores.masked_fill(mask, float("-inf")), -1)
        x = x + self.out((weights @ values).flatten(1))
        y, total = torch.ops.opkitsmall.gate(self.norm(x), self.weight, 0.5)
        torch.ops.opkitsmall.count_(seen, ids)
        return self.head(x + y), total


def inputs(number):
    mask = torch.arange(LENGTH) > number
    return torch.randint(0, 16, (BATCH,)), torch.full((BATCH,), number), mask


def state():
    return [torch.zeros(BATCH, HEADS, LENGTH, WIDTH // HEADS) for _ in range(2)] + [torch.zeros(16)]


def compare(there, host):
    """Runs the same steps on both, compares results and state after each, and gives the kernel calls."""
    ours, theirs = state(), [x.npu() for x in state()]
    calls = []
    for number in range(4):
        step = inputs(number)
        expected = host(*step, *ours)
        got = there(*[x.npu() for x in step], *theirs)
        for want, have in zip([*expected, *ours], [*got, *theirs]):
            assert torch.allclose(have.cpu(), want, atol=1e-5), (number, have, want)
        calls.append(kernel_calls("opkitsmall::gate"))
    return calls


def ge_backend():
    import torchair
    from torchair import ge

    standin().define_ir(
        "SmallGate", [("x", "required"), ("bias", "optional")], [("y", "required"), ("total", "required")],
        [("scale", "VT_FLOAT")],
    )  # fmt: skip
    standin().define_ir("SmallCount", [("seen", "required"), ("ids", "required")], [("seen", "required")])

    @torchair.register_fx_node_ge_converter(torch.ops.opkitsmall.gate.default)
    def convert_gate(x, bias, scale, meta_outputs=None):
        return tuple(
            ge.custom_op(
                "SmallGate", inputs={"x": x, "bias": bias}, attrs={"scale": ge.attr.Float(scale)},
                outputs=["y", "total"],
            )
        )  # fmt: skip

    @torchair.register_fx_node_ge_converter(torch.ops.opkitsmall.count_.default)
    def convert_count(seen, ids, meta_outputs=None):
        ge.custom_op("SmallCount", inputs={"seen": seen, "ids": ids}, outputs=["seen"])

    register_node("SmallGate", NodeSpec("opkitsmall::gate", outputs=("y", "total")))
    register_node("SmallCount", NodeSpec("opkitsmall::count_"))
    return torchair.get_npu_backend(compiler_config=torchair.CompilerConfig())


@torch.no_grad()
def main(backend: str) -> None:
    bind_reference("opkitsmall::gate", gate)
    bind_reference("opkitsmall::count_", count_)
    torch.manual_seed(1)
    host, there = Step().eval(), Step().eval()
    there.load_state_dict(host.state_dict())
    there.npu()
    if backend == "eager":
        compare(there, host)
    else:
        chosen = ge_backend() if backend == "ge" else backend
        compiled = torch.compile(there, backend=chosen, fullgraph=True, dynamic=False)
        calls = compare(compiled, host)
        assert calls[0] == calls[-1], calls  # later steps replay: no kernel's host side is called again
    assert not [event for event in device.journal() if event.event in ("refuse", "read_uncomputed")]
    if backend == "npugraph_ex":
        from torch_npu.npu.npugraph_ex.inference import cache_compile

        cached(cache_compile, there, host, {})
    if backend == "ge":
        import torchair

        for options in ({}, {"ge_cache": True}):
            cached(torchair.inference.cache_compile, there, host, options)
    print("same numbers", backend)


class Cached(torch.nn.Module):
    def __init__(self, step, compile_, options) -> None:
        super().__init__()
        self.step = step
        self.run = compile_(self.once, dynamic=False, **options)

    def once(self, ids, position, mask, keys, values, seen):
        return self.step(ids, position, mask, keys, values, seen)

    def forward(self, *args):
        return self.run(*args)


def cached(compile_, there, host, options) -> None:
    """The first object of a class compiles and writes; another one, in this or a later process, finds it."""
    where = Path(sys.argv[2]) / f"{compile_.__module__}{len(options)}"
    known = where.exists()
    for hit in (known, True):
        torch._dynamo.reset()
        model = Cached(there, compile_, {"cache_dir": str(where), **options})
        compare(model, host)
        kind = type(model.run._compiled_model).__name__
        assert kind == ("function" if hit else "ModelCacheSaver"), (options, hit, kind)
        assert list(where.rglob("compiled_module"))


if __name__ == "__main__":
    main(sys.argv[1])
