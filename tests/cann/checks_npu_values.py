"""Values behind torch_npu's own kernels; run by test_npu_values.py."""

import pytest
import torch
import torch.nn.functional as F
import torch_npu

from opkit.cann import device
from opkit.cann.uncomputed import UncomputedWarning, uncomputed_source
from opkit.cann.views import is_uncomputed

QUERY, KEY, VALUE = (torch.randn(2, 4, 8, 16) for _ in range(3))
OPTIONS = [{}, {"is_causal": True}, {"attn_mask": torch.ones(8, 8, dtype=torch.bool).tril()}, {"scale": 0.5}]


def there(options):
    return {
        name: value.npu() if isinstance(value, torch.Tensor) else value for name, value in options.items()
    }


@torch.no_grad()
def check_attention():
    for options in OPTIONS:
        expected = F.scaled_dot_product_attention(QUERY, KEY, VALUE, **options)
        got = F.scaled_dot_product_attention(QUERY.npu(), KEY.npu(), VALUE.npu(), **there(options))
        assert torch.allclose(got.cpu(), expected, atol=1e-5), options


def check_attention_gradients():
    for options in OPTIONS:
        host = [x.clone().requires_grad_() for x in (QUERY, KEY, VALUE)]
        npu = [x.npu().requires_grad_() for x in (QUERY, KEY, VALUE)]
        (F.scaled_dot_product_attention(*host, **options) * QUERY).sum().backward()
        (F.scaled_dot_product_attention(*npu, **there(options)) * QUERY.npu()).sum().backward()
        for a, b in zip(host, npu):
            assert torch.allclose(a.grad, b.grad.cpu(), atol=1e-5), options


@torch.no_grad()
def check_layouts_and_grouped_heads():
    key, value = KEY[:, :2], VALUE[:, :2]
    expected = F.scaled_dot_product_attention(
        QUERY, key.repeat_interleave(2, 1), value.repeat_interleave(2, 1)
    )
    changes = {
        "BNSD": lambda x: x,
        "BSND": lambda x: x.transpose(1, 2).contiguous(),
        "BSH": lambda x: x.transpose(1, 2).flatten(2),
        "SBH": lambda x: x.permute(2, 0, 1, 3).flatten(2),
    }
    for layout, change in changes.items():
        inputs = [change(x).npu() for x in (QUERY, key, value)]
        out = torch_npu.npu_fusion_attention_v3(*inputs, 4, layout, scale=0.25)[0]
        assert torch.allclose(out.cpu(), change(expected), atol=1e-5), layout


@torch.no_grad()
def check_unknown_options_stay_uncomputed():
    torch.npu.empty_cache()
    inputs = [x.npu() for x in (QUERY, KEY, VALUE)]
    for options in ({"sparse_mode": 4}, {"keep_prob": 0.5}, {"pre_tockens": 3}):
        device.journal()
        torch_npu.npu_fusion_attention_v3(*inputs, 4, "BNSD", **options)
        events = [(event.event, event.name) for event in device.journal()]
        assert ("launch", "npu::npu_fusion_attention_v3") not in events, options
        assert "uncomputed" in [event for event, _ in events]


def check_other_operators():
    x, weight = torch.randn(3, 8), torch.randn(8)
    y, rstd = torch_npu.npu_rms_norm(x.npu(), weight.npu(), 1e-5)
    assert torch.allclose(y.cpu(), F.rms_norm(x, (8,), weight, 1e-5), atol=1e-5)
    assert not is_uncomputed(rstd)
    assert torch.allclose(torch_npu.npu_swiglu(x.npu()).cpu(), F.silu(x[:, :4]) * x[:, 4:], atol=1e-5)
    half = torch_npu.npu_swiglu(x.half().npu())
    assert half.dtype is torch.float16
    q, cos, sin = (torch.randn(1, 2, 3, 8) for _ in range(3))
    turned = torch.cat([-q[..., 4:], q[..., :4]], -1)
    got = torch_npu.npu_rotary_mul(q.npu(), cos.npu(), sin.npu())
    assert torch.allclose(got.cpu(), q * cos + turned * sin, atol=1e-5)


@torch.no_grad()
def check_attention_is_captured_and_replayed():
    def function(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True) * 2

    model = torch.compile(function, backend="npugraph_ex", fullgraph=True, dynamic=False)
    for _ in range(3):
        inputs = [torch.randn(2, 4, 8, 16) for _ in range(3)]
        got = model(*[x.npu() for x in inputs])
        assert torch.allclose(got.cpu(), function(*inputs), atol=1e-5)


def check_host_code_still_checks_its_arguments():
    with pytest.raises(RuntimeError, match="layout"):
        torch_npu.npu_fusion_attention_v3(QUERY.npu(), KEY.npu(), VALUE.npu(), 4, "NOPE")


LENGTHS = [3, 7]


def reference_attention(q, k, v, lengths, scale=0.25, causal=False):
    outs = []
    for batch, length in enumerate(lengths):
        mask = torch.ones(q.size(2), length, dtype=torch.bool).tril(length - q.size(2)) if causal else None
        outs.append(
            F.scaled_dot_product_attention(
                q[batch], k[batch, :, :length], v[batch, :, :length], attn_mask=mask, scale=scale
            )
        )
    return torch.stack(outs)


@torch.no_grad()
def check_inference_attention():
    fia, v2 = torch_npu.npu_fused_infer_attention_score, torch_npu.npu_fused_infer_attention_score_v2
    q, k, v = (x.half() for x in (QUERY[:, :, :1], KEY, VALUE))
    expected = reference_attention(*(x.float() for x in (q, k, v)), LENGTHS)
    there_ = [x.npu() for x in (q, k, v)]
    common = {"num_heads": 4, "scale": 0.25, "input_layout": "BNSD"}
    out, lse = fia(*there_, actual_seq_lengths_kv=LENGTHS, softmax_lse_flag=True, **common)
    assert torch.allclose(out.cpu().float(), expected, atol=2e-3)
    scores = (q[0].float() @ k[0, :, :3].float().mT * 0.25).logsumexp(-1, keepdim=True)
    assert torch.allclose(lse.cpu()[0], scores, atol=2e-3)
    out = v2(*there_, actual_seq_kvlen=LENGTHS, num_query_heads=4, softmax_scale=0.25, input_layout="BNSD")[0]
    assert torch.allclose(out.cpu().float(), expected, atol=2e-3)
    flat = [x.transpose(1, 2).flatten(2).contiguous().npu() for x in (q, k, v)]
    out = fia(*flat, actual_seq_lengths_kv=LENGTHS, num_heads=4, scale=0.25, input_layout="BSH")[0]
    assert torch.allclose(out.cpu().float(), expected.transpose(1, 2).flatten(2), atol=2e-3)
    # The same keys and values, in blocks of four.
    blocks = [x.transpose(1, 2).flatten(2).reshape(4, 4, -1).contiguous().npu() for x in (k, v)]
    table = torch.tensor([[0, 1], [2, 3]], dtype=torch.int32).npu()
    out = fia(
        flat[0], *blocks, actual_seq_lengths_kv=LENGTHS, num_heads=4, num_key_value_heads=4, scale=0.25,
        input_layout="BSH", block_table=table, block_size=4,
    )[0]  # fmt: skip
    assert torch.allclose(out.cpu().float(), expected.transpose(1, 2).flatten(2), atol=2e-3)
    # An option without values leaves the result marked.
    out = fia(*there_, pse_shift=torch.zeros(2, 4, 1, 8).half().npu(), **common)[0]
    assert is_uncomputed(out)


@torch.no_grad()
def check_inference_attention_follows_its_lists_between_replays():
    def function(q, k, v, lengths):
        x = torch_npu.npu_fused_infer_attention_score(
            q, k, v, actual_seq_lengths_kv=lengths, num_heads=4, scale=0.25, input_layout="BNSD"
        )[0]
        return x * 2

    torch._dynamo.reset()
    model = torch.compile(function, backend="npugraph_ex", fullgraph=True, dynamic=True)
    q, k, v = (x.half() for x in (QUERY[:, :, :1], KEY, VALUE))
    device.journal()
    captures = []
    for lengths in ([3, 7], [4, 2], [8, 5], [3, 7]):
        out = model(q.npu(), k.npu(), v.npu(), lengths)
        expected = reference_attention(*(x.float() for x in (q, k, v)), lengths)
        assert torch.allclose(out.cpu().float(), expected * 2, atol=4e-3), lengths
        captures.append(sum(event.event == "capture_begin" for event in device.journal()))
    assert captures[1:] == [0, 0, 0], captures


def check_what_nobody_computed_is_marked():
    x = torch.randn(4, 8).npu()
    for _ in range(3):  # the allocator hands the same memory out again, with old numbers in it
        x.clone()
    raw = torch_npu.npu_fast_gelu(x)
    assert is_uncomputed(raw)
    assert uncomputed_source(raw) == "npu::npu_fast_gelu"
    assert raw.isnan().cpu().all()
    derived = (raw[:, :2] > 0).to(torch.int64)
    assert is_uncomputed(derived)
    assert "not computed: npu::npu_fast_gelu" in str(derived)
    into = torch.zeros(4, 8).npu()
    into[1].copy_(raw[0])
    assert is_uncomputed(into[1:2])
    assert not is_uncomputed(into[2:])
    device.journal()
    with pytest.warns(UncomputedWarning, match="npu_fast_gelu"):
        derived.cpu()
    assert ("read_uncomputed", "npu::npu_fast_gelu") in [(e.event, e.name) for e in device.journal()]
    into.zero_()
    assert not is_uncomputed(into)
    assert not is_uncomputed(torch.zeros_like(raw))
    assert "not computed" not in str(torch_npu.npu_rms_norm(x, torch.ones(8).npu())[0])


def check_marks_follow_replays():
    x, graph = torch.randn(4, 8).npu(), torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        y = torch_npu.npu_fast_gelu(x)
        z = y + 1
    graph.replay()
    assert is_uncomputed(z)
    z.fill_(1)
    assert not is_uncomputed(z)
    graph.replay()
    assert is_uncomputed(z)


def check_launches_tell_what_they_were_given():
    x, weight = torch.randn(3, 8)[:, ::2].npu(), torch.randn(4).npu()
    wide = torch.randn(3, 8).npu()[:, ::2]
    device.launches()
    torch_npu.npu_rms_norm(wide, weight, 0.5)
    (launch,) = device.launches()
    assert (launch.name, launch.model) == ("aclnnRmsNorm", 0)
    first, gamma, y, rstd = launch.arguments
    assert first["shape"] == [3, 4]
    assert first["stride"] == [8, 2]
    assert first["storage"] == wide.untyped_storage().data_ptr()
    assert gamma["storage"] == weight.data_ptr()
    assert [a["dtype"] for a in (gamma, y, rstd)] == ["float32"] * 3
    assert rstd["shape"] == [3, 1]
    torch_npu.npu_fused_infer_attention_score(
        *(t.half().npu() for t in (QUERY, KEY, VALUE)), actual_seq_lengths_kv=[8, 5], num_heads=4,
        input_layout="BNSD",
    )  # fmt: skip
    (launch,) = [item for item in device.launches() if "FusedInfer" in item.name]
    kinds = [argument["kind"] for argument in launch.arguments]
    assert kinds[:3] == ["tensor", "list", "list"], kinds
    assert {"kind": "ints", "value": [8, 5]} in launch.arguments
    assert launch.arguments[1]["items"][0]["shape"] == [2, 4, 8, 16]
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        torch_npu.npu_swiglu(x)
    (launch,) = [item for item in device.launches() if item.name == "aclnnSwiGlu"]
    assert launch.model > 0


def check_cache_updates():
    cache, new = torch.zeros(2, 5, 3), torch.randn(2, 1, 3)
    expected = cache.clone()
    expected[0, 1], expected[1, 3] = new[0, 0], new[1, 0]
    on_device, where = cache.npu(), torch.tensor([1, 3]).npu()
    assert torch.equal(torch_npu.scatter_update(on_device, where, new.npu(), 1).cpu(), expected)
    assert torch.equal(on_device.cpu(), cache)
    torch_npu.scatter_update_(on_device, where, new.npu(), 1)
    assert torch.equal(on_device.cpu(), expected)
    rows = torch.tensor([[0], [2]]).npu()
    table = torch.zeros(4, 3).npu()
    torch_npu.npu_scatter_nd_update_(table, rows, new[:, 0].npu())
    assert torch.equal(table[[0, 2]].cpu(), new[:, 0])
    assert not table[[1, 3]].any()


def check_atb_operators_are_launched_and_marked():
    key, value, cache = (torch.randn(2, 2, 32).half().npu() for _ in range(3))
    caches = [torch.zeros(8, 16, 2, 32).half().npu() for _ in range(2)]
    slots = torch.tensor([3, 20], dtype=torch.int32).npu()
    device.launches()
    torch_npu._npu_reshape_and_cache(key, value, *caches, slots)
    (launch,) = device.launches()
    assert launch.name == "atb ReshapeAndCache"
    assert [2, 2, 32] in [argument["shape"] for argument in launch.arguments], launch.arguments
    assert key.data_ptr() in [argument["storage"] for argument in launch.arguments]
    assert all(is_uncomputed(x) for x in caches)
    out = torch.empty(2, 4, 32).half().npu()
    table, lengths = torch.zeros(2, 4, dtype=torch.int32).npu(), torch.tensor([3, 4], dtype=torch.int32)
    query = torch.randn(2, 4, 32).half().npu()
    torch_npu._npu_paged_attention(query, *caches, 2, 4, 0.1, table, lengths, out)
    assert uncomputed_source(out) == "atb::_npu_paged_attention"
    assert not is_uncomputed(cache)
