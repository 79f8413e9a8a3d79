"""A decode step of a llama-like model with torch_npu's operators and a KV cache; run by test_decode.py."""

import torch
import torch_npu

from opkit.cann import device

HEADS, SIZE, LENGTH, BATCH = 4, 16, 32, 2
WIDTH = HEADS * SIZE
SHAPES = {"q": (WIDTH, WIDTH), "k": (WIDTH, WIDTH), "v": (WIDTH, WIDTH), "o": (WIDTH, WIDTH),
          "up": (WIDTH, 256), "down": (128, WIDTH), "gate": (WIDTH, 4), "norm": (WIDTH,)}  # fmt: skip
torch.manual_seed(0)
WEIGHTS = {name: torch.randn(*shape) * 0.1 for name, shape in SHAPES.items()}
ANGLE = torch.randn(1, 1, 1, SIZE)


def on_npu(weights, x, at, keys, values, cos, sin):
    h, _ = torch_npu.npu_rms_norm(x, weights["norm"], 1e-6)
    q, k, v = (h @ weights[name] for name in "qkv")
    q = torch_npu.npu_rotary_mul(q.view(-1, 1, HEADS, SIZE), cos, sin).reshape(BATCH, 1, WIDTH)
    k = torch_npu.npu_rotary_mul(k.view(-1, 1, HEADS, SIZE), cos, sin).reshape(BATCH, 1, WIDTH)
    torch_npu.scatter_update_(keys, at, k, 1)
    torch_npu.scatter_update_(values, at, v.reshape(BATCH, 1, WIDTH), 1)
    attended, _ = torch_npu.npu_fused_infer_attention_score(
        q, keys, values, num_heads=HEADS, input_layout="BSH", scale=SIZE**-0.5
    )
    x = x + attended.reshape(BATCH, WIDTH) @ weights["o"]
    weight, expert = torch.softmax(x @ weights["gate"], -1).topk(
        2, -1
    )  # the gating step of a mixture of experts
    hidden = torch_npu.npu_swiglu(x @ weights["up"], -1) @ weights["down"]
    return x + hidden * weight.sum(-1, keepdim=True), expert


def on_host(weights, x, at, keys, values, cos, sin):
    h = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * weights["norm"]
    q, k, v = (h @ weights[name] for name in "qkv")

    def rotated(t):
        first, second = t.view(-1, 1, HEADS, SIZE).chunk(2, -1)
        return t.view(-1, 1, HEADS, SIZE) * cos + torch.cat([-second, first], -1) * sin

    keys[:, at[0]], values[:, at[0]] = rotated(k).reshape(BATCH, WIDTH), v
    heads = (t.reshape(BATCH, -1, HEADS, SIZE).transpose(1, 2) for t in (rotated(q), keys, values))
    attended = torch.nn.functional.scaled_dot_product_attention(*heads).transpose(1, 2).reshape(BATCH, WIDTH)
    x = x + attended @ weights["o"]
    weight, expert = torch.softmax(x @ weights["gate"], -1).topk(2, -1)
    first, second = (x @ weights["up"]).chunk(2, -1)
    hidden = torch.nn.functional.silu(first) * second @ weights["down"]
    return x + hidden * weight.sum(-1, keepdim=True), expert


def decode(wrap):
    """Four steps on both sides; each must agree, and the caches after it. Gives the number of replays."""
    weights = {name: weight.npu() for name, weight in WEIGHTS.items()}
    step = wrap(lambda *given: on_npu(weights, *given))
    host = torch.zeros(BATCH, LENGTH, WIDTH), torch.zeros(BATCH, LENGTH, WIDTH)
    caches = [cache.npu() for cache in host]
    turned = ANGLE.cos(), ANGLE.sin()
    device.journal()
    for position in range(4):
        x, at = torch.randn(BATCH, WIDTH), torch.full((BATCH,), position)
        wanted = on_host(WEIGHTS, x, at, *host, *turned)
        with torch.no_grad():
            found = step(x.npu(), at.npu(), *caches, *(t.npu() for t in turned))
        for npu, cpu in zip((*found, *caches), (*wanted, *host)):
            torch.testing.assert_close(npu.cpu(), cpu, rtol=1e-4, atol=1e-5)
    return sum(event.event == "replay" for event in device.journal())


def check_ge():
    import torchair

    torch._dynamo.reset()
    decode(
        lambda step: torch.compile(step, backend=torchair.get_npu_backend(), fullgraph=True, dynamic=False)
    )


def check_eager():
    assert decode(lambda step: step) == 0


def check_npugraph_ex():
    torch._dynamo.reset()
    assert decode(lambda step: torch.compile(step, backend="npugraph_ex", fullgraph=True, dynamic=False)) >= 4
