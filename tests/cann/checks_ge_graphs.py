"""Models compiled by torchair and run by the stand-in's GE engine; run by test_ge_graphs.py."""

import torch
import torch.nn.functional as F
import torch_npu
import torchair
from torchair import ge

from opkit.cann import device, ge_custom
from opkit.cann.ge_engine import engine
from opkit.cann.library import standin
from opkit.cann.reference import bind_reference, kernel_calls
from opkit.cann.views import has_write_mark, is_uncomputed

library = torch.library.Library("opkitge", "DEF")
BACKEND = torchair.get_npu_backend(compiler_config=torchair.CompilerConfig())


def define(schema, meta, ir=None, inputs=(), outputs=(), attrs=()):
    name = schema.partition("(")[0]
    library.define(schema)
    library.impl(name, meta, "Meta")
    if ir:
        standin().define_ir(ir, inputs, outputs, attrs)
    return getattr(torch.ops.opkitge, name).default


def compiled(function, dynamic=False):
    torch._dynamo.reset()
    engine().clear()
    return torch.compile(function, backend=BACKEND, fullgraph=True, dynamic=dynamic)


def raised(kind, run):
    try:
        run()
    except kind as error:
        return str(error)
    raise AssertionError(f"no {kind.__name__}")


class Block(torch.nn.Module):
    """Attention and a gated MLP with normalisation, in plain torch operators."""

    def __init__(self, width=8):
        super().__init__()
        self.qkv = torch.nn.Linear(width, 3 * width)
        self.up = torch.nn.Linear(width, 2 * width)
        self.down = torch.nn.Linear(width, width)
        self.norm = torch.nn.LayerNorm(width)

    def forward(self, x, mask):
        q, k, v = self.qkv(self.norm(x)).split(x.size(-1), -1)
        scores = (q @ k.transpose(-1, -2)) * x.size(-1) ** -0.5
        x = x + scores.masked_fill(mask, -1e4).softmax(-1) @ v
        gate, value = self.up(x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)).chunk(2, -1)
        return x + self.down(F.silu(gate) * value)


@torch.no_grad()
def check_transformer_block():
    torch.manual_seed(0)
    host = Block()
    there = Block()
    there.load_state_dict(host.state_dict())
    for dynamic in (False, True):
        model = compiled(there.npu(), dynamic)
        for length in (4, 4, 6) if dynamic else (4, 4):
            x = torch.randn(2, length, 8)
            mask = torch.ones(length, length, dtype=torch.bool).triu(1)
            out = model(x.npu(), mask.npu())
            assert torch.allclose(out.cpu(), host(x, mask), atol=1e-5)
        assert engine().runs
        assert all(not run.uncomputed and not run.error for run in engine().runs)
        assert engine().graphs[-1].is_static is not dynamic


@torch.no_grad()
def check_many_functions():
    a, b, i = torch.randn(4, 6), torch.randn(4, 6), torch.tensor([2, 0])
    functions = {
        "arithmetic": lambda a, b, i: (a + 2 * b - 1) / (b.abs() + 1),
        "reduce": lambda a, b, i: (a.sum(1), b.mean(0, keepdim=True), a.max(1)[0], a.argmax(1), a.norm()),
        "shapes": lambda a, b, i: (
            torch.cat([a, b], 1)[:, 1:9:2],
            a.t().reshape(3, 8),
            a[None].expand(2, 4, 6),
        ),
        "gather": lambda a, b, i: (a[i], a[:, 2], F.embedding(i, b), a.gather(1, i[None].expand(4, 2))),
        "compare": lambda a, b, i: torch.where((a > b) & (a < 1), a, b),
        "types": lambda a, b, i: (a.half() * 2, (a > 0).to(torch.int32), i + 0.5),
        "activations": lambda a, b, i: F.gelu(a) + F.silu(b) + a.tanh() + b.sigmoid() + F.relu(a) + a.erf(),
        "stack": lambda a, b, i: torch.stack([a, b]).permute(1, 0, 2).contiguous(),
        "topk": lambda a, b, i: a.topk(2),
        "exp": lambda a, b, i: (
            a.exp().log() - a.abs().sqrt(),
            a.pow(2),
            torch.maximum(a, b),
            a.clamp(-1, 1),
        ),
        "factory": lambda a, b, i: a + torch.ones(6, device=a.device) * torch.arange(6, device=a.device),
        "tril": lambda a, b, i: (a @ b.t()).tril(),
        "norm": lambda a, b, i: F.layer_norm(a, (6,), b[0], b[1]),
        "softmax": lambda a, b, i: (a.softmax(-1), F.log_softmax(b, 1)),
        "unused input": lambda a, b, i: b.neg(),
        "cumsum": lambda a, b, i: a.cumsum(1),
    }
    failed = []
    for name, function in functions.items():
        expected = function(a, b, i)
        try:
            got = compiled(function)(a.npu(), b.npu(), i.npu())
        except Exception as error:
            failed.append(f"{name}: {(engine().errors or [error])[-1]}"[:400])
            continue
        for want, have in zip(*[v if isinstance(v, tuple) else (v,) for v in (expected, got)]):
            if want.dtype != have.dtype or not torch.allclose(want, have.cpu(), atol=2e-3):
                failed.append(f"{name}: {want} != {have.cpu()}")
    assert not failed, "\n".join(failed)


@torch.no_grad()
def check_input_mutation_and_cache_update():
    def step(cache, x):
        cache.add_(x)
        return cache * 2

    model = compiled(step)
    host, x = torch.zeros(2, 3), torch.randn(2, 3)
    cache = host.npu()
    for _ in range(3):
        out = model(cache, x.npu())
        assert torch.allclose(out.cpu(), step(host, x))
        assert torch.allclose(cache.cpu(), host)

    def update(cache, where, new):
        return torch_npu.scatter_update_(cache, where, new, 1)

    cache, new = torch.zeros(2, 5, 3).npu(), torch.randn(2, 1, 3)
    compiled(update)(cache, torch.tensor([1, 3]).npu(), new.npu())
    assert torch.equal(cache[0, 1].cpu(), new[0, 0])
    assert torch.equal(cache[1, 3].cpu(), new[1, 0])


OP = define(
    "custom(Tensor x, Tensor? y, Tensor[] z, float a=1.5, int b=2, bool c=True) -> (Tensor, Tensor)",
    lambda x, y, z, a=1.5, b=2, c=True: (x.new_empty(x.shape), x.new_empty(x.shape[:1])),
    "OpkitCustom",
    [("x", "required"), ("y", "optional"), ("z", "dynamic")],
    [("first", "required"), ("second", "required")],
    [("scale", "VT_FLOAT"), ("shift", "VT_INT"), ("negate", "VT_BOOL")],
)
IN_PLACE = define(
    "place(Tensor(a!) cache, Tensor x, int k=3) -> Tensor",
    lambda cache, x, k=3: x.new_empty(x.shape),
    "OpkitPlace",
    [("cache", "required"), ("x", "required")],
    [("cache", "required"), ("y", "required")],
    [("k", "VT_INT")],
)
ge_custom.register_node(
    "OpkitCustom",
    ge_custom.NodeSpec("opkitge::custom", {"a": "scale", "b": "shift", "c": "negate"}, ("first", "second")),
)
ge_custom.register_node("OpkitPlace", ge_custom.NodeSpec("opkitge::place", outputs=("y",)))
swapped = False


@torchair.register_fx_node_ge_converter(OP)
def convert_custom(x, y, z, a=1.5, b=2, c=True, meta_outputs=None):
    first, second = ge.custom_op(
        "OpkitCustom",
        inputs={"x": y if swapped else x, "y": x if swapped else y, "z": z},
        attrs={"scale": ge.attr.Float(a), "shift": ge.attr.Int(b), "negate": ge.attr.Bool(c)},
        outputs=["first", "second"],
    )
    return first, second


@torchair.register_fx_node_ge_converter(IN_PLACE)
def convert_place(cache, x, k=3, meta_outputs=None):
    return ge.custom_op(
        "OpkitPlace", inputs={"cache": cache, "x": x}, attrs={"k": ge.attr.Int(k)}, outputs=["cache", "y"]
    )[1]


def custom(x, y, z, a, b, c):
    out = x * a + b + sum(z)
    if y is not None:
        out = out - 2 * y
    return (-out if c else out), x.sum(1)


def place(cache, x, k):
    cache.mul_(k).add_(x)
    return x + k


bind_reference("opkitge::custom", custom)
bind_reference("opkitge::place", place)


def use(x, y, cache):
    first, second = OP(x, y, [x, y], 2.5)
    third = IN_PLACE(cache, first, 4)
    return first, second, third * cache


def expected(x, y, cache):
    first, second = custom(x, y, [x, y], 2.5, 2, True)
    third = place(cache, first, 4)
    return first, second, third * cache


@torch.no_grad()
def check_custom_and_in_place_nodes():
    for dynamic in (False, True):
        model = compiled(use, dynamic)
        before = [kernel_calls(name) for name in ("opkitge::custom", "opkitge::place")]
        for rows in (3, 3, 5) if dynamic else (3, 3):
            x, y, cache = (torch.randn(rows, 4) for _ in range(3))
            there = cache.npu()
            got = model(x.npu(), y.npu(), there)
            for want, have in zip(expected(x, y, cache), got):
                assert torch.allclose(want, have.cpu(), atol=1e-5)
            assert torch.allclose(there.cpu(), cache, atol=1e-5)
        assert [kernel_calls(name) for name in ("opkitge::custom", "opkitge::place")] == before
        graph = engine().graphs[-1]
        (node,) = graph.of_type("OpkitCustom")
        assert [item.name for item in node.inputs] == ["x", "y", "z0", "z1"]
        assert node.ir_attrs == {"scale": 2.5, "shift": 2, "negate": True}
        assert graph.of_type("OpkitPlace")[0].in_place == {0: 0}
        assert list(graph.output_refs.values()) == [
            2 if not dynamic else graph.output_refs[max(graph.output_refs)]
        ]
        assert not graph.dangling()


@torch.no_grad()
def check_outputs_that_are_the_memory_of_inputs():
    def swap(a, b):
        kept = a.clone()
        a.copy_(b)
        b.copy_(kept)

    a, b = torch.randn(3), torch.randn(3)
    first, second = a.npu(), b.npu()
    compiled(swap)(first, second)
    assert torch.equal(first.cpu(), b)
    assert torch.equal(second.cpu(), a)


@torch.no_grad()
def check_absent_optional_input():
    def function(x):
        return OP(x, None, [])[0]

    x = torch.randn(2, 3)
    assert torch.allclose(compiled(function)(x.npu()).cpu(), custom(x, None, [], 1.5, 2, True)[0])


@torch.no_grad()
def check_swapped_inputs_give_other_values():
    global swapped
    swapped = True
    try:
        x, y, cache = (torch.randn(3, 4) for _ in range(3))
        got = compiled(use)(x.npu(), y.npu(), cache.npu())
        assert not torch.allclose(expected(x, y, cache)[0], got[0].cpu())
    finally:
        swapped = False


@torch.no_grad()
def check_without_reference_nothing_is_computed():
    bind_reference("opkitge::place", None, replace=True)
    try:
        x, cache = torch.randn(3, 4).npu(), torch.randn(3, 4).npu()
        out = compiled(lambda cache, x: IN_PLACE(cache, x))(cache, x)
        assert is_uncomputed(out)
        assert has_write_mark(cache)
        assert [run.uncomputed for run in engine().runs] == [("OpkitPlace",)]
    finally:
        bind_reference("opkitge::place", place, replace=True)


@torch.no_grad()
def check_unknown_node_fails_by_name():
    op = define(
        "unknown(Tensor x) -> Tensor",
        lambda x: x.new_empty(x.shape),
        "OpkitUnknown",
        [("x", "required")],
        [("y", "required")],
    )

    @torchair.register_fx_node_ge_converter(op)
    def convert(x, meta_outputs=None):
        return ge.custom_op("OpkitUnknown", inputs={"x": x}, outputs=["y"])

    said = raised(RuntimeError, lambda: compiled(lambda x: op(x))(torch.ones(2).npu()))
    assert "cannot interpret the node type OpkitUnknown" in said
    assert "OpkitUnknown" in str(engine().errors[-1])


@torch.no_grad()
def check_wrong_output_shape_is_found():
    """GE infers from the operator's Meta, so a converter that returns another output is caught."""
    op = define(
        "shapes(Tensor x) -> (Tensor, Tensor)",
        lambda x: (x.new_empty(x.shape), x.new_empty(x.shape[:1])),
        "OpkitShapes",
        [("x", "required")],
        [("a", "required"), ("b", "required")],
    )
    bind_reference("opkitge::shapes", lambda x: (x + 1, x.sum(1)))
    ge_custom.register_node("OpkitShapes", ge_custom.NodeSpec("opkitge::shapes", outputs=("a", "b")))

    @torchair.register_fx_node_ge_converter(op)
    def convert(x, meta_outputs=None):
        a, b = ge.custom_op("OpkitShapes", inputs={"x": x}, outputs=["a", "b"])
        return b, a

    said = raised(RuntimeError, lambda: compiled(lambda x: op(x))(torch.ones(2, 3).npu()))
    assert "NetOutput" in said, said


@torch.no_grad()
def check_failing_reference_fails_the_run():
    def fail(cache, x, k):
        raise ValueError("no such luck")

    bind_reference("opkitge::place", fail, replace=True)
    try:
        said = raised(
            RuntimeError,
            lambda: compiled(lambda c, x: IN_PLACE(c, x))(torch.ones(2).npu(), torch.ones(2).npu()),
        )
        assert "no such luck" in said
        assert "no such luck" in engine().runs[-1].error
    finally:
        bind_reference("opkitge::place", place, replace=True)


@torch.no_grad()
def check_npugraph_ex_after_ge():
    model = torch.compile(use, backend="npugraph_ex", fullgraph=True, dynamic=False)
    cache = torch.randn(3, 4)
    there = cache.npu()
    device.journal()
    for _ in range(3):
        x, y = torch.randn(3, 4), torch.randn(3, 4)
        got = model(x.npu(), y.npu(), there)
        for want, have in zip(expected(x, y, cache), got):
            assert torch.allclose(want, have.cpu(), atol=1e-3, rtol=1e-3)
    assert "replay" in [event.event for event in device.journal()]
