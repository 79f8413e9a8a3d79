"""aten operators on the stand-in give the CPU's values; run by test_aten.py."""

import torch
import torch.nn.functional as F
import torch_npu

from opkit.cann import device
from opkit.cann.aten import install_aten_kernels
from opkit.cann.reference import bind_reference

A, B, S = torch.randn(4, 6), torch.randn(4, 6), torch.randn(6, 6)
IMAGE, KERNEL = torch.randn(2, 3, 8, 8), torch.randn(4, 3, 3, 3)
INDEX = torch.tensor([2, 0, 1])

# Name -> function of tensors, its inputs. No function keeps state, none draws random numbers.
CASES = {
    "add": (lambda a, b: a + b, A, B),
    "add_alpha": (lambda a, b: torch.add(a, b, alpha=2.5), A, B),
    "number": (lambda a: a * 2.5 - 1, A),
    "reflected": (lambda a: 1 - 2 / a, A),
    "broadcast": (lambda a, b: a * b[0], A, B),
    "zero_dim": (lambda a, b: a * b.sum(), A, B),
    "host_zero_dim": (lambda a: a * torch.tensor(3.0), A),
    "promote_int": (lambda a: a.int() * 2.5, A),
    "promote_half_tensor": (lambda a, b: a.half() + b, A, B),
    "promote_half_zero_dim": (lambda a, b: a.half() + b.sum(), A, B),
    "compare": (lambda a, b: a > b, A, B),
    "where": (lambda a, b: torch.where(a > 0, a, b), A, B),
    "matmul": (lambda a, b: a @ b.t(), A, B),
    "addmm": (lambda a, s: torch.addmm(a, a, s, beta=0.5), A, S),
    "bmm": (lambda a, b: torch.bmm(a[None], b.t()[None]), A, B),
    "einsum": (lambda a, b: torch.einsum("ij,kj->ik", a, b), A, B),
    "linear": (lambda a, s: F.linear(a, s, s[0]), A, S),
    "softmax": (lambda a: a.softmax(-1), A),
    "log_softmax": (lambda a: F.log_softmax(a, 0), A),
    "layer_norm": (lambda a, b: F.layer_norm(a, (6,), b[0], b[1]), A, B),
    "rms_norm": (lambda a: F.rms_norm(a, (6,)), A),
    "gelu": (F.gelu, A),
    "silu": (F.silu, A),
    "conv2d": (lambda i, k: F.conv2d(i, k, padding=1), IMAGE, KERNEL),
    "max_pool": (lambda i: F.max_pool2d(i, 2), IMAGE),
    "batch_norm": (lambda i: F.batch_norm(i, None, None, training=True), IMAGE),
    "interpolate": (lambda i: F.interpolate(i, scale_factor=2.0), IMAGE),
    "sum": (lambda a: a.sum(1), A),
    "sum_dtype": (lambda a: a.sum(dtype=torch.float64), A),
    "mean": (lambda a: a.mean(0, keepdim=True), A),
    "var": (lambda a: a.var(1), A),
    "max_dim": (lambda a: a.max(1), A),
    "argmax": (lambda a: a.argmax(1), A),
    "topk": (lambda a: a.topk(2), A),
    "sort": (lambda a: a.sort(descending=True), A),
    "cumsum": (lambda a: a.cumsum(1), A),
    "norm": (lambda a: a.norm(dim=1), A),
    "cat": (lambda a, b: torch.cat([a, b], 1), A, B),
    "stack": (lambda a, b: torch.stack([a, b]), A, B),
    "split": (lambda a: [part + 1 for part in a.split(2, 1)], A),
    "transposed": (lambda a: a.t().exp(), A),
    "sliced": (lambda a: a[1:, ::2].neg(), A),
    "index_select": (lambda a, i: a.index_select(0, i), A, INDEX),
    "index": (lambda a, i: a[i, 1:4], A, INDEX),
    "gather": (lambda a: a.gather(1, torch.zeros(4, 2, dtype=torch.int64, device=a.device)), A),
    "scatter": (lambda a, b: a.scatter(1, torch.ones(4, 6, dtype=torch.int64, device=a.device), b), A, B),
    "index_put": (lambda a, i: a.index_put((i,), a[0]), A, INDEX),
    "embedding": (lambda a, i: F.embedding(i, a), A, INDEX),
    "masked_fill": (lambda a: a.masked_fill(a > 0, -1.0), A),
    "tril": (lambda s: s.tril(), S),
    "clamp": (lambda a: a.clamp(-0.5, 0.5), A),
    "pow": (lambda a: a.pow(2), A),
    "pad": (lambda a: F.pad(a, (1, 2)), A),
    "repeat": (lambda a: a.repeat(2, 1), A),
    "flip": (lambda a: a.flip(0), A),
    "to_half": (lambda a: a.half(), A),
    "to_int": (lambda a: a.to(torch.int64), A),
    "bool_any": (lambda a: (a > 1).any(1), A),
    "foreach": (lambda a, b: torch._foreach_mul([a, b], 2.0), A, B),
    "arange": (lambda a: torch.arange(5, device=a.device), A),
    "full": (lambda a: torch.full((2, 3), 7, device=a.device), A),
    "zeros": (lambda a: torch.zeros(3, device=a.device), A),
    "eye": (lambda a: torch.eye(3, device=a.device), A),
    "ones_like": (torch.ones_like, A),
    "cross_entropy": (lambda a: F.cross_entropy(a, torch.arange(4, device=a.device)), A),
    "empty_result": (lambda a: a[:0] + 1, A),
    "complex": (lambda a, b: torch.complex(a, b) * 2j, A, B),
}


def parts(value):
    return list(value) if isinstance(value, (list, tuple)) else [value]


def same(name, expected, got):
    for want, have in zip(parts(expected), parts(got)):
        assert have.device.type == "npu", name
        assert (want.dtype, want.size()) == (have.dtype, have.size()), f"{name}: {have.dtype} {have.size()}"
        assert torch.allclose(want, have.cpu(), atol=1e-4, rtol=1e-4, equal_nan=True), (
            f"{name}: {want} {have.cpu()}"
        )


def raised(kind, run):
    try:
        run()
    except kind as error:
        return str(error)
    raise AssertionError(f"no {kind.__name__}")


def capture(body):
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph, stream=torch.npu.Stream()):
        result = body()
    return graph, result


def check_eager_values():
    for name, (function, *inputs) in CASES.items():
        same(name, function(*inputs), function(*[tensor.npu() for tensor in inputs]))


def check_eager_leaves_nothing_uncomputed():
    device.journal()
    for function, *inputs in CASES.values():
        function(*[tensor.npu() for tensor in inputs])
    assert [event.name for event in device.journal() if event.event == "uncomputed"] == []


def check_replays_follow_new_inputs():
    for name, (function, *inputs) in CASES.items():
        places = [torch.zeros_like(tensor).npu() for tensor in inputs]
        graph, result = capture(lambda f=function, p=places: f(*p))
        for scale in (1, -2):
            new = [tensor if tensor.dtype == torch.int64 else tensor * scale for tensor in inputs]
            for place, tensor in zip(places, new):
                place.copy_(tensor)
            graph.replay()
            same(name, function(*new), result)


def check_capture_under_inference_mode():
    x = torch.ones(3).npu()
    with torch.inference_mode():
        graph, y = capture(lambda: x.add_(1) * 2)
    graph.replay()
    assert y.cpu().tolist() == [4.0, 4.0, 4.0]


def check_in_place():
    x = A.npu()
    kept = x
    x.mul_(2).add_(1)
    x[0] = 5
    x[1:, 0].zero_()
    x.clamp_(max=3)
    y = A * 2 + 1
    y[0] = 5
    y[1:, 0].zero_()
    assert x is kept
    assert torch.allclose(x.cpu(), y.clamp_(max=3))


def check_out():
    a, b = A.npu(), B.npu()
    fits, empty, strided = torch.empty(4, 6).npu(), torch.empty(0).npu(), torch.empty(6, 4).npu().t()
    for out in (fits, empty, strided):
        assert torch.add(a, b, out=out) is out
        assert torch.allclose(out.cpu(), A + B)
    assert strided.stride() == (1, 4)
    torch.add(a, b, out=a)
    assert torch.allclose(a.cpu(), A + B)
    _values, indices = torch.max(b, 1, out=(torch.empty(0).npu(), torch.empty(0, dtype=torch.int64).npu()))
    assert torch.equal(indices.cpu(), B.max(1).indices)
    graph, out = capture(lambda: torch.mul(b, 2, out=torch.empty(0, device="npu")))
    graph.replay()
    assert torch.allclose(out.cpu(), B * 2)


def check_layouts():
    """Results lie as torch_npu's own kernels allocate them, now and in a capture."""
    strided = A.npu().t()

    def results():
        return strided * 2, strided.relu(), strided + strided.contiguous(), strided.clone(), strided.half()

    wanted = [(4, 1), (4, 1), (4, 1), strided.stride(), strided.stride()]
    assert [result.stride() for result in results()] == wanted
    _graph, captured = capture(results)
    assert [result.stride() for result in captured] == wanted


def check_gradients():
    functions = [
        lambda a: F.layer_norm(F.gelu(a), (6,)),
        lambda a: a.softmax(-1) ** 2,
        lambda a: F.rms_norm(a, (6,)),
        lambda a: a.sort()[0] * a.sigmoid(),
        lambda a: F.linear(a, S.to(a.device)),
        lambda a: F.cross_entropy(a, torch.arange(4, device=a.device)),
        lambda a: a[[0, 0, 2]].exp(),
        lambda a: a @ S.to(a.device),
        lambda a: a.std(1),
    ]
    for number, function in enumerate(functions):
        host, there = A.clone().requires_grad_(), A.npu().requires_grad_()
        function(host).sum().backward()
        function(there).sum().backward()
        assert torch.allclose(host.grad, there.grad.cpu(), atol=1e-5), number


def check_seeds():
    torch.manual_seed(7)
    first = [torch.randn(5, device="npu"), torch.rand(5, device="npu"), torch.randperm(9, device="npu")]
    torch.manual_seed(7)
    second = [torch.randn(5, device="npu"), torch.rand(5, device="npu"), torch.randperm(9, device="npu")]
    assert all(torch.equal(a, b) for a, b in zip(first, second))
    state = torch.npu.get_rng_state()
    a = torch.randn(5, device="npu")
    b = torch.randn(5, device="npu")
    torch.npu.set_rng_state(state)
    assert torch.equal(a, torch.randn(5, device="npu"))
    assert not torch.equal(a, b)
    own = [torch.Generator(device="npu").manual_seed(3) for _ in range(2)]
    assert torch.equal(*[torch.rand(4, device="npu", generator=generator) for generator in own])


def check_replays_draw_new_numbers():
    torch.manual_seed(1)
    graph, x = capture(lambda: torch.rand(8, device="npu"))
    draws = []
    for _ in range(3):
        graph.replay()
        draws.append(x.cpu())
    assert not torch.equal(draws[0], draws[1])
    assert not torch.equal(draws[1], draws[2])
    assert all(((draw >= 0) & (draw < 1)).all() for draw in draws)


def check_values_for_the_host():
    x = A.npu()
    assert torch.equal(x, x.clone())
    assert not torch.equal(x, x + 1)
    assert torch.equal(x.nonzero().cpu(), A.nonzero())
    assert torch.equal(x[x > 0].cpu(), A[A > 0])
    assert x.sum().item() == x.cpu().sum().item() or abs(x.sum().item() - A.sum().item()) < 1e-4


def check_waits_are_refused_in_capture():
    x = A.npu()
    bodies = {
        "item": lambda: x.sum().item(),
        "nonzero": lambda: x.nonzero(),
        "mask": lambda: x[x > 0],
        "equal": lambda: torch.equal(x, x),
        "cpu": lambda: x.cpu(),
        "host index": lambda: x[torch.tensor([0, 1])],
        "host operator": lambda: torch.linalg.cholesky_ex(x[:, :4]),
    }
    for name, body in bodies.items():
        device.journal()
        raised(RuntimeError, lambda run=body: capture(run))
        assert "refuse" in [event.event for event in device.journal()], name
        assert torch.allclose((x + 1).cpu(), A + 1), f"the device after {name}"


def check_devices_are_not_mixed():
    assert "same device" in raised(RuntimeError, lambda: A.npu() + B)


def check_errors_are_torch_errors():
    raised(RuntimeError, lambda: A.npu() @ B.npu())
    raised(RuntimeError, lambda: capture(lambda: A.npu() @ B.npu()))
    raised(IndexError, lambda: A.npu().sum(7))


def check_captured_number_is_the_value_at_capture():
    x, factor = torch.ones(2).npu(), torch.tensor(2.0)
    graph, y = capture(lambda: x * factor)
    factor.fill_(100)
    graph.replay()
    assert y.tolist() == [2.0, 2.0]


def check_installed_once_and_fast():
    assert install_aten_kernels() > 900


def check_memory_of_a_dropped_graph_is_free():
    torch.npu.empty_cache()
    before = torch.npu.memory_reserved()
    graph, _ = capture(lambda: torch.ones(30 << 20, device="npu") * 2)
    assert torch.npu.memory_reserved() > before
    del graph, _
    torch.npu.empty_cache()
    assert torch.npu.memory_reserved() == before


def check_lazily_conjugated_tensors():
    x = torch.randn(3, 4, dtype=torch.complex64)
    there = x.npu()
    device.journal()
    calls = {
        "cpu": lambda z: z.conj(),
        "clone": lambda z: z.conj().clone(),
        "contiguous": lambda z: z.t().conj().contiguous(),
        "product": lambda z: z @ z.mH,
        "imaginary": lambda z: z.conj().imag.clone(),
        "copy": lambda z: torch.zeros_like(z).copy_(z.conj()),
        "copy into": lambda z: torch.zeros_like(z).conj().copy_(z).clone(),
        "copy from host": lambda z: torch.zeros_like(z).copy_(x.conj()),
    }
    for name, call in calls.items():
        assert torch.allclose(call(there).cpu().resolve_conj(), call(x).resolve_conj()), name
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        y = there.conj().clone()
    there.mul_(2)
    graph.replay()
    assert torch.allclose(y.cpu(), (2 * x).conj().resolve_conj())
    assert not [event for event in device.journal() if event.event in ("uncomputed", "refuse")]


def check_operators_that_make_another_view_of_their_argument():
    for name, args in (
        ("t_", ()), ("squeeze_", ()), ("unsqueeze_", (0,)), ("transpose_", (0, 1)), ("swapaxes_", (0, 1)),
        ("as_strided_", ((2, 2), (1, 2))), ("detach_", ()),
    ):  # fmt: skip
        host = A[:1].clone()
        there = host.npu()
        getattr(host, name)(*args)
        getattr(there, name)(*args)
        assert (there.size(), there.stride()) == (host.size(), host.stride()), name
        assert torch.equal(there.cpu(), host), name


def check_launches_after_a_lost_capture_are_refused():
    x = A.npu()
    said = []

    def refused(call):
        try:
            call()
        except Exception as error:
            said.append(str(error))

    def body():
        with torch.npu.graph(torch.npu.NPUGraph()):
            for call in (
                torch.npu.synchronize, lambda: x.T.contiguous(), lambda: x[:, ::2].copy_(x[:, 1::2]), x.half,
                lambda: torch_npu.npu_rms_norm(x, x[0]), lambda: torch_npu.npu_swiglu(x), x.relu,
            ):  # fmt: skip
                refused(call)

    refused(body)
    assert len(said) == 8
    assert all("the capture was lost" in text for text in said[1:7]), said
    assert torch.equal(x.relu().cpu(), A.relu())


def check_opcheck():
    library = torch.library.Library("checks", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", torch.empty_like, "Meta")
    bind_reference("checks::twice", lambda x: 2 * x)
    operators = (
        torch.ops.checks.twice.default,
        torch.ops.aten.relu.default,
        torch.ops.npu.npu_swiglu.default,
    )
    for operator in operators:
        found = torch.library.opcheck(operator, (A.npu(),), raise_exception=False)
        assert set(found.values()) == {"SUCCESS"}, (operator, found)
    library._destroy()
