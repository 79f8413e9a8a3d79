"""Reference kernels for custom operators; run by test_reference.py."""

import torch
import torch_npu  # noqa: F401

from opkit.cann import device
from opkit.cann.reference import bind_reference, is_bound, kernel_calls, reference_function, unbind_reference
from opkit.cann.views import has_write_mark, is_uncomputed
from opkit.errors import OpkitError

library = torch.library.Library("opkitref", "DEF")


def define(schema, meta):
    name = schema.partition("(")[0]
    library.define(schema)
    if meta is not None:
        library.impl(name, meta, "Meta")
    return f"opkitref::{name}"


def raised(kind, run):
    try:
        run()
    except kind as error:
        return str(error)
    raise AssertionError(f"no {kind.__name__}")


def check_every_kind_of_argument():
    name = define(
        "kinds(Tensor x, Tensor? y, Tensor[] z, float a=1.5, *, int[] n=[1, 2], ScalarType? dtype=None)"
        " -> (Tensor, Tensor[])",
        lambda x, y, z, a=1.5, *, n=(1, 2), dtype=None: (
            torch.empty_like(x, dtype=dtype),
            [torch.empty_like(t) for t in z],
        ),
    )
    seen = []

    def function(x, y, z, a, *, n, dtype):
        seen.append((y, a, list(n), dtype))
        return (x * a).to(dtype or x.dtype), [t + 1 for t in z]

    bind_reference(name, function)
    x = torch.ones(3).npu()
    first, rest = torch.ops.opkitref.kinds(x, None, [x, x[:2]])
    assert torch.equal(first.cpu(), torch.full((3,), 1.5))
    assert [t.tolist() for t in rest] == [[2.0, 2.0, 2.0], [2.0, 2.0]]
    half, _ = torch.ops.opkitref.kinds(x, x, [], 2.0, n=[7], dtype=torch.float16)
    assert half.dtype is torch.float16
    assert seen[0] == (None, 1.5, [1, 2], None)
    assert seen[1][0] is not None
    assert seen[1][1:] == (2.0, [7], torch.float16)


def check_outputs_have_the_strides_of_the_meta():
    name = define(
        "strided(Tensor x) -> Tensor", lambda x: torch.empty_strided((2, 3), (1, 2), device=x.device)
    )
    bind_reference(name, lambda x: x * 2)
    x = torch.arange(6.0).view(2, 3)
    out = torch.ops.opkitref.strided(x.npu())
    assert out.stride() == (1, 2)
    assert torch.equal(out.cpu(), x * 2)


def check_mutation():
    name = define("mut(Tensor(a!) x, Tensor(b!)[] ys, Tensor(c!)? z) -> ()", lambda x, ys, z: None)

    def function(x, ys, z):
        for tensor in [x, *ys]:
            tensor.add_(1)
        if z is not None:
            z.zero_()

    bind_reference(name, function)
    x, y, z = (torch.ones(2).npu() for _ in range(3))
    assert torch.ops.opkitref.mut(x[1:], [y, y], z) is None
    assert (x.tolist(), y.tolist(), z.tolist()) == ([1.0, 2.0], [3.0, 3.0], [0.0, 0.0])
    torch.ops.opkitref.mut(x, [], None)


def check_result_that_is_the_argument():
    name = define("same_(Tensor(a!) x) -> Tensor(a!)", lambda x: x)
    bind_reference(name, lambda x: x.mul_(3))
    x = torch.ones(2).npu()
    assert torch.ops.opkitref.same_(x) is x
    assert x.tolist() == [3.0, 3.0]


def check_no_function_computes_nothing():
    name = define("none(Tensor(a!) x, Tensor y) -> Tensor", lambda x, y: torch.empty_like(y))
    bind_reference(name, None)
    assert reference_function(name) is None
    x, y = torch.ones(2).npu(), torch.ones(2).npu()
    out = torch.ops.opkitref.none(x, y)
    assert is_uncomputed(out)
    assert not has_write_mark(out)
    assert has_write_mark(x)
    assert not is_uncomputed(y)


def check_wrong_results_name_both_sides():
    name = define("wrong(Tensor x) -> (Tensor, Tensor)", lambda x: (torch.empty_like(x), torch.empty_like(x)))
    x = torch.ones(2).npu()
    for function, words in (
        (lambda x: (x, x.half()), ["float16[2]", "result 1", "float32[2]"]),
        (lambda x: (x[:1], x), ["float32[1]", "result 0", "float32[2]"]),
        (lambda x: x, ["2 results"]),
        (lambda x: (x, None), ["None", "result 1"]),
    ):
        bind_reference(name, function, replace=True)
        said = raised(OpkitError, lambda: torch.ops.opkitref.wrong(x))
        assert all(word in said for word in [name, *words]), said


def check_replace_must_be_asked_for():
    name = define("twice(Tensor x) -> Tensor", torch.empty_like)
    bind_reference(name, lambda x: x + 1)
    assert "replace=True" in raised(OpkitError, lambda: bind_reference(name, lambda x: x + 2))
    bind_reference(name, lambda x: x + 2, replace=True)
    assert torch.ops.opkitref.twice(torch.zeros(1).npu()).item() == 2
    unbind_reference(name)
    assert not is_bound(name)
    raised(OpkitError, lambda: unbind_reference(name))
    raised(NotImplementedError, lambda: torch.ops.opkitref.twice(torch.zeros(1).npu()))


def check_wheel_operator_is_back_after_unbind():
    x = torch.ones(2, 8).half().npu()
    bind_reference("npu::npu_swiglu", lambda self, dim: self.chunk(2, dim)[0] * 2, replace=True)
    assert torch.ops.npu.npu_swiglu(x).tolist() == [[2.0] * 4] * 2
    unbind_reference("npu::npu_swiglu")
    device.journal()
    assert torch.ops.npu.npu_swiglu(x).size() == (2, 4)
    assert "uncomputed" in [event.event for event in device.journal()]


def check_missing_meta_and_operator():
    name = define("nometa(Tensor x) -> Tensor", None)
    bind_reference(name, lambda x: x)
    assert "no Meta kernel" in raised(OpkitError, lambda: torch.ops.opkitref.nometa(torch.ones(1).npu()))
    assert "not defined" in raised(OpkitError, lambda: bind_reference("opkitref::missing", None))
    assert "operator name" in raised(OpkitError, lambda: bind_reference("missing", None))
    number = define("number(Tensor x) -> int", None)
    assert "int" in raised(OpkitError, lambda: bind_reference(number, None))


def check_custom_op():
    @torch.library.custom_op("opkitref::custom", mutates_args={"buffer"}, device_types="npu")
    def custom(x: torch.Tensor, buffer: torch.Tensor) -> torch.Tensor:
        raise AssertionError("this is the kernel that was replaced")

    custom.register_fake(lambda x, buffer: torch.empty_like(x))

    def function(x, buffer):
        buffer.copy_(x + 1)
        return x * 3

    bind_reference("opkitref::custom", function, replace=True)
    x, buffer = torch.ones(2).npu(), torch.zeros(2).npu()
    assert custom(x, buffer).tolist() == [3.0, 3.0]
    assert buffer.tolist() == [2.0, 2.0]


class Model(torch.nn.Module):
    def forward(self, x, cache):
        y = torch.ops.opkitref.step(cache, x, k=2)
        return torch.softmax(y @ y.t(), -1)


def _step(cache, x, *, k):
    cache.add_(x * k)
    return x - k


def check_npugraph_ex_replays_without_kernel_calls():
    name = define(
        "step(Tensor(a!) cache, Tensor x, *, int k=3) -> Tensor", lambda cache, x, *, k=3: torch.empty_like(x)
    )
    bind_reference(name, _step)
    model = torch.compile(Model(), backend="npugraph_ex", fullgraph=True, dynamic=False)
    cache = torch.ones(3, 3)
    on_device = cache.npu()
    calls = []
    for _ in range(3):
        x = torch.randn(3, 3)
        out = model(x.npu(), on_device)
        calls.append(kernel_calls(name))
        y = _step(cache, x, k=2)
        assert torch.allclose(out.cpu(), torch.softmax(y @ y.t(), -1), atol=1e-6)
        assert torch.allclose(on_device.cpu(), cache)
    assert calls[0] > 0
    assert calls[0] == calls[2]
    kinds = [event.event for event in device.journal() if event.name == name]
    assert kinds.count("record") >= 1
    assert kinds.count("launch") >= 3


def check_freed_memory_is_not_touched():
    name = define("late(Tensor x) -> Tensor", torch.empty_like)
    bind_reference(name, lambda x: x + 1)
    graph = torch.npu.NPUGraph()
    x = torch.ones(20 << 20).npu()
    with torch.npu.graph(graph, stream=torch.npu.Stream()):
        torch.ops.opkitref.late(x)
    graph.replay()
    del x
    torch.npu.empty_cache()

    def replay():
        graph.replay()
        torch.npu.synchronize()

    device.task_failures()
    raised(RuntimeError, replay)
    assert "freed" in str(device.task_failures()[0].error)
