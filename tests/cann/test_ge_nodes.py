"""The interpreter's standard nodes, on graphs written with the wheel's own protobuf classes."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("google.protobuf")

from opkit.cann.ge_custom import forget_node, register_node  # noqa: E402
from opkit.cann.ge_dtypes import from_torch  # noqa: E402
from opkit.cann.ge_graph import CONTROL, Edge, _proto, parse_graph  # noqa: E402
from opkit.cann.ge_interpreter import interpret  # noqa: E402
from opkit.errors import OpkitError  # noqa: E402

A, B = torch.randn(3, 4), torch.randn(3, 4)
I64 = torch.int64


class Builder:
    """A GraphDef as torchair writes it."""

    def __init__(self) -> None:
        self.graph = _proto().GraphDef()
        self.graph.name = "graph"
        self.inputs: list[torch.Tensor] = []

    def add(self, kind, inputs=(), attrs=(), outputs=("y",), name=None):
        op = self.graph.op.add()
        op.type, op.name = kind, name or f"{kind}_{len(self.graph.op)}"
        for ir_name, source in inputs:
            op.input.append(source or "")
            op.input_desc.add().name = ir_name
        for key, value in dict(attrs).items():
            _set(op.attr[key], value)
        for out in outputs:
            op.output_desc.add().name = out
        return op.name

    def data(self, tensor):
        name = self.add("Data", attrs={"index": len(self.inputs)})
        desc = self.graph.op[-1].output_desc[0]
        desc.dtype = from_torch(tensor.dtype).proto
        desc.shape.dim.extend(tensor.size())
        self.inputs.append(tensor)
        return f"{name}:0"

    def const(self, value, dtype=I64):
        tensor = torch.tensor(value, dtype=dtype)
        name = self.add("Const")
        holder = self.graph.op[-1].attr["value"].t
        holder.desc.dtype = from_torch(tensor.dtype).proto
        holder.desc.shape.dim.extend(tensor.size())
        holder.data = tensor.numpy().tobytes()
        return f"{name}:0"

    def parse(self, *results, controls=()):
        self.add("NetOutput", [(f"input{i}", source) for i, source in enumerate(results)], outputs=())
        self.graph.op[-1].input.extend(f"{name}:-1" for name in controls)
        return parse_graph(1, self.graph.SerializeToString())


def _set(attr, value):
    if isinstance(value, bool):
        attr.b = value
    elif isinstance(value, int):
        attr.i = value
    elif isinstance(value, float):
        attr.f = value
    elif isinstance(value, str):
        attr.s = value.encode()
    else:
        attr.list.i.extend(value)
        attr.list.val_type = 2


def run(kind, inputs, attrs=(), outputs=("y",)):
    """The outputs of one node; a tensor is a graph input, anything else a constant."""
    built = Builder()
    feeds = []
    for name, value in inputs.items():
        if isinstance(value, torch.Tensor):
            feeds.append((name, built.data(value)))
        elif value is None:
            feeds.append((name, ""))
        else:
            feeds.append((name, built.const(value)))
    node = built.add(kind, feeds, attrs, outputs)
    graph = built.parse(*[f"{node}:{index}" for index in range(len(outputs))])
    return interpret(graph, built.inputs).outputs


X12 = {"x1": A, "x2": B}
CASES = [
    ("Add", X12, {}, A + B),
    ("Sub", X12, {}, A - B),
    ("Mul", {"x1": A.half(), "x2": B}, {}, A.half().float() * B),
    ("Mul", {"x1": A.half(), "x2": B.sum()}, {}, A.half().float() * B.sum()),
    ("RealDiv", X12, {}, A / B),
    ("Maximum", X12, {}, torch.maximum(A, B)),
    ("Less", X12, {}, A < B),
    ("Neg", {"x": A}, {}, -A),
    ("Rsqrt", {"x": A.abs()}, {}, A.abs().rsqrt()),
    ("Sigmoid", {"x": A}, {}, A.sigmoid()),
    ("Muls", {"x": A}, {"value": 2.0}, A * 2),
    ("AxpyV2", {"x1": A, "x2": B, "alpha": torch.tensor(3.0)}, {}, A + 3 * B),
    ("MatMul", {"x1": A, "x2": B, "bias": None}, {"transpose_x2": True}, A @ B.t()),
    ("MatMulV2", {"x1": A, "x2": B, "bias": B[0]}, {"transpose_x1": True}, A.t() @ B + B[0]),
    ("BatchMatMul", {"x1": A[None], "x2": B[None]}, {"adj_x2": True}, (A @ B.t())[None]),
    ("SoftmaxV2", {"x": A}, {"axes": [0]}, A.softmax(0)),
    ("SoftmaxV2", {"x": A.half()}, {"axes": [-1], "half_to_float": True}, A.half().float().softmax(-1)),
    ("LogSoftmaxV2", {"logits": A}, {"axes": [-1]}, A.log_softmax(-1)),
    ("ReduceSum", {"x": A, "axes": [1]}, {"keep_dims": True}, A.sum(1, True)),
    ("ReduceMean", {"x": A, "axes": [0, 1]}, {}, A.mean()),
    ("ReduceMax", {"x": A, "axes": [0]}, {}, A.amax(0)),
    ("ReduceProd", {"x": A, "axes": [0, 1]}, {}, A.prod()),
    ("ReduceAll", {"x": A > -9, "axes": [0]}, {}, (A > -9).all(0)),
    ("ReduceMeanWithCast", {"x": A.half(), "axes": [1]}, {"dtype": 0}, A.half().float().mean(1)),
    ("LpNormV2", {"x": A}, {"p": 2.0, "axes": [1]}, A.norm(dim=1)),
    ("RotaryMul", {"x": A, "r1": B, "r2": B}, {}, A * B + torch.cat([-A[:, 2:], A[:, :2]], 1) * B),
    ("LeakyRelu", {"x": A}, {"negative_slope": 0.5}, torch.nn.functional.leaky_relu(A, 0.5)),
    ("Swish", {"x": A}, {"scale": 1.0}, A * A.sigmoid()),
    ("GeluV2", {"x": A}, {"approximate": "none"}, torch.nn.functional.gelu(A)),
    ("SelectV2", {"condition": A > 0, "then": A, "else": B}, {}, torch.where(A > 0, A, B)),
    ("Cast", {"x": A}, {"dst_type": 1}, A.half()),
    ("Reshape", {"x": A, "shape": [2, -1]}, {}, A.reshape(2, 6)),
    ("Transpose", {"x": A, "perm": [1, 0]}, {}, A.t()),
    ("Squeeze", {"x": A[None]}, {"axis": [0]}, A),
    ("Unsqueeze", {"x": A}, {"axes": [0, -1]}, A[None, ..., None]),
    ("FlattenV2", {"x": A}, {"axis": 0}, A.flatten()),
    ("Shape", {"x": A}, {}, torch.tensor([3, 4], dtype=torch.int32)),
    ("Shape", {"x": A}, {"dtype": 9}, torch.tensor([3, 4])),
    ("Gather", {"x": A, "indices": [2, 0]}, {}, A[[2, 0]]),
    ("GatherV2", {"x": A, "indices": 1, "axis": [1]}, {}, A[:, 1]),
    ("GatherV2", {"x": A, "indices": [-1], "axis": [0]}, {"negative_index_support": True}, A[[-1]]),
    ("ConcatV2", {"x0": A, "x1": B, "concat_dim": 1}, {"N": 2}, torch.cat([A, B], 1)),
    ("Pack", {"x0": A, "x1": B}, {"axis": 1, "N": 2}, torch.stack([A, B], 1)),
    ("StridedSliceV2", {"x": A, "begin": [1], "end": [9], "axes": [1], "strides": [2]}, {}, A[:, 1:9:2]),
    ("StridedSliceV2", {"x": A, "begin": [-2], "end": [-1], "axes": [0], "strides": [1]}, {}, A[-2:-1]),
    (
        "StridedSlice",
        {"x": A, "begin": [1, 0], "end": [2, 9], "strides": [1, 1]},
        {"shrink_axis_mask": 1},
        A[1],
    ),
    (
        "AsStrided",
        {"x": A, "size": [2, 2], "stride": [1, 4], "storage_offset": 3},
        {},
        A.as_strided((2, 2), (1, 4), 3),
    ),
    ("BroadcastTo", {"x": A[:1], "shape": [3, 4]}, {}, A[:1].expand(3, 4)),
    ("Fill", {"dims": [2, 2], "value": torch.tensor(7.0)}, {}, torch.full((2, 2), 7.0)),
    ("Range", {"start": 1, "limit": 9, "delta": 3}, {}, torch.arange(1, 9, 3)),
    (
        "ScatterElements",
        {"data": A, "indices": [[0], [1], [2]], "updates": B[:, :1].contiguous()},
        {"axis": 1},
        A.scatter(1, torch.tensor([[0], [1], [2]]), B[:, :1]),
    ),
    ("GatherElements", {"x": A, "index": [[0, 3]]}, {"dim": 1}, A.gather(1, torch.tensor([[0, 3]]))),
    ("IndexByTensor", {"x": A, "indices0": [3, 0]}, {"indices_mask": [0, 1]}, A[:, [3, 0]]),
    ("MaskedFill", {"x": A, "mask": A > 0, "value": torch.tensor(0.5)}, {}, A.masked_fill(A > 0, 0.5)),
    ("Tile", {"x": A, "multiples": [2, 1]}, {}, A.repeat(2, 1)),
    ("Bitcast", {"x": A}, {"type": 3}, A.view(torch.int32)),
    (
        "PadV3",
        {"x": A, "paddings": [[0, 0], [1, 2]], "constant_values": None},
        {},
        torch.nn.functional.pad(A, (1, 2)),
    ),
]


@pytest.mark.parametrize(
    ("kind", "inputs", "attrs", "expected"), CASES, ids=[f"{c[0]}{i}" for i, c in enumerate(CASES)]
)
def test_node(kind, inputs, attrs, expected):
    (value,) = run(kind, inputs, attrs)
    assert value.dtype == expected.dtype
    assert value.is_contiguous()
    assert torch.allclose(value, expected, atol=1e-5)


def test_nodes_with_several_outputs():
    parts = run("SplitV", {"x": A, "size_splits": [1, -1], "split_dim": 1}, {"num_split": 2}, ("y0", "y1"))
    assert [tuple(part.size()) for part in parts] == [(3, 1), (3, 3)]
    y, mean, _ = run(
        "LayerNormV4",
        {"x": A, "normalized_shape": [4], "gamma": B[0], "beta": B[1]},
        {"epsilon": 1e-5},
        ("y", "mean", "rstd"),
    )
    assert torch.allclose(y, torch.nn.functional.layer_norm(A, (4,), B[0], B[1]), atol=1e-5)
    assert torch.allclose(mean.flatten(), A.mean(1))
    values, indices = run("TopKV2", {"x": A, "k": 2}, {}, ("values", "indices"))
    assert torch.equal(values, A.topk(2).values)
    assert indices.dtype == torch.int32


def test_in_place_output_is_the_memory_of_its_input():
    data = A.clone()
    built = Builder()
    moved = built.add("TensorMove", [("x", built.data(data))])
    scattered = built.add(
        "ScatterNdUpdate",
        [("var", f"{moved}:0"), ("indices", built.const([[1]])), ("updates", built.data(B[:1]))],
        outputs=("var",),
    )
    graph = built.parse(f"{scattered}:0", f"{moved}:0")
    after, before = interpret(graph, built.inputs).outputs
    assert torch.equal(after[1], B[0])
    assert after.data_ptr() == before.data_ptr()
    assert torch.equal(data, A)
    assert graph.output_refs == {0: 0}


def test_scatter_updates_rows_of_a_cache():
    cache, new = torch.zeros(2, 5, 3), torch.randn(2, 2, 3)
    (out,) = run(
        "Scatter",
        {"var": cache, "indices": [1, 3], "updates": new},
        {"reduce": "update", "axis": 1},
        ("var",),
    )
    assert torch.equal(out[0, 1:3], new[0])
    assert torch.equal(out[1, 3:5], new[1])
    assert out[0, 0].sum() == 0


def test_unknown_node_is_named():
    with pytest.raises(OpkitError, match="cannot interpret the node type Mystery"):
        run("Mystery", {"x": A})


def test_attention_that_is_not_known_is_an_error():
    inputs = {"query": A[None], "key0": A[None], "value0": A[None]}
    found, _ = run("FusedInferAttentionScore", inputs, {"num_heads": 1, "scale": 0.5}, ("a", "b"))
    assert torch.allclose(found[0], torch.softmax(A @ A.T * 0.5, -1) @ A, atol=1e-6)
    for more, attrs, said in (
        ({"key_rope": A}, {}, "with the input key_rope"),
        ({}, {"input_layout": "NTD"}, "with input_layout='NTD'"),
        ({}, {"sparse_mode": 4}, "with sparse_mode=4"),
        ({}, {"next_tokens": 0}, "with next_tokens=0"),
        ({"block_table": [[0]]}, {}, "with block_table and no actual_seq_lengths_kv"),
    ):
        with pytest.raises(OpkitError, match=f"cannot interpret FusedInferAttentionScore {said}"):
            run("FusedInferAttentionScore", {**inputs, **more}, {"num_heads": 1, **attrs}, ("a", "b"))


def test_unknown_attribute_value_is_an_error():
    with pytest.raises(OpkitError, match="reduction='mul'"):
        run("ScatterElements", {"data": A, "indices": [[0]], "updates": B}, {"reduction": "mul"})


def test_attribute_that_is_not_looked_at_is_an_error():
    (value,) = run("Log", {"x": A.abs()}, {"base": -1.0, "scale": 1.0, "shift": 0.0})
    assert torch.allclose(value, A.abs().log())
    with pytest.raises(OpkitError, match=r"cannot interpret Log with base=2\.0"):
        run("Log", {"x": A.abs()}, {"base": 2.0})
    with pytest.raises(OpkitError, match="cannot interpret Add with future=1"):
        run("Add", X12, {"future": 1})


def test_failure_names_the_node_and_its_inputs():
    with pytest.raises(OpkitError, match=r"Add.*x1=float32\[3, 4\], x2=float32\[2\]"):
        run("Add", {"x1": A, "x2": torch.ones(2)})


def test_registered_function_computes_a_node():
    register_node("Triple", lambda call: call["x"] * 3)
    try:
        (value,) = run("Triple", {"x": A})
        assert torch.equal(value, A * 3)
        with pytest.raises(OpkitError, match="replace=True"):
            register_node("Triple", lambda call: call["x"])
    finally:
        forget_node("Triple")
    with pytest.raises(OpkitError, match="standard"):
        register_node("Add", lambda call: call["x"])


def test_wiring_can_be_inspected():
    built = Builder()
    x = built.data(A)
    added = built.add("Add", [("x1", x), ("x2", built.data(B))], name="sum")
    lost = built.add("Neg", [("x", x)], name="lost")
    ordered = built.add("Identity", [("x", x)], name="ordered")
    graph = built.parse(f"{added}:0", controls=[ordered])
    assert [item.source for item in graph.node("sum").inputs] == [
        Edge(x[:-2], 0),
        Edge(graph.data[1].name, 0),
    ]
    assert graph.net_output.controls == (ordered,)
    assert [node.name for node in graph.dangling()] == [lost]
    assert CONTROL == -1
    assert graph.output_refs == {}


def test_control_edge_orders_a_read_after_the_write():
    built = Builder()
    moved = built.add("TensorMove", [("x", built.data(A))])
    read = built.add("Identity", [("x", f"{moved}:0")], name="read")
    write = built.add(
        "Assign", [("ref", f"{moved}:0"), ("value", built.data(B))], outputs=("ref",), name="write"
    )
    next(op for op in built.graph.op if op.name == read).input.append(f"{write}:-1")
    (value,) = interpret(built.parse(f"{read}:0"), built.inputs).outputs
    assert torch.equal(value, B)


def test_cycle_and_missing_node_are_errors():
    built = Builder()
    built.add("Neg", [("x", "b:0")], name="a")
    built.add("Neg", [("x", "a:0")], name="b")
    with pytest.raises(OpkitError, match="cycle"):
        interpret(built.parse("a:0"), [])
    with pytest.raises(OpkitError, match="not there"):
        interpret(Builder().parse("gone:0"), [])


def test_garbage_is_no_graph():
    with pytest.raises(OpkitError, match="not a GraphDef"):
        parse_graph(1, b"\xff\xffnonsense")
