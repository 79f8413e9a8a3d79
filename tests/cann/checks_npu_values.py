"""Values behind torch_npu's own kernels; run by test_npu_values.py."""

import pytest
import torch
import torch.nn.functional as F
import torch_npu

from opkit.cann import device
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
