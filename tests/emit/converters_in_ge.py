"""Compile calls of converted operators through the real torchair; write the nodes they become as JSON.

Started by test_converter_in_ge.py in a process of its own, with a directory for the generated module.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

DIRECTORY = Path(sys.argv[1])

from opkit.cann.load import ensure_runtime  # noqa: E402

ensure_runtime()

import torch  # noqa: E402
import torch_npu  # noqa: E402, F401
import torchair  # noqa: E402
from ge_specs import read  # noqa: E402

from opkit.cann.ge_custom import NodeSpec, register_node  # noqa: E402
from opkit.cann.ge_engine import engine  # noqa: E402
from opkit.cann.library import standin  # noqa: E402
from opkit.emit.converter import emit  # noqa: E402
from opkit.emit.ge_binding import bind  # noqa: E402
from opkit.emit.ir_json import ir_definition  # noqa: E402

SIZED = [
    {
        "op": "Sized",
        "language": "cpp",
        "input_desc": [
            {"name": n, "param_type": "required", "format": ["ND"], "type": ["float"]} for n in ("x", "n")
        ],
        "output_desc": [{"name": "y", "param_type": "required", "format": ["ND"], "type": ["float"]}],
    }
]
CACHED = [
    {
        "op": "Cached",
        "language": "cpp",
        "input_desc": [
            {"name": n, "param_type": "required", "format": ["ND"], "type": ["float"]} for n in ("c", "x")
        ],
        "output_desc": [
            {"name": n, "param_type": "required", "format": ["ND"], "type": ["float"]} for n in ("c", "y")
        ],
    }
]
OPS = """
custom:
  - func: plain(Tensor x, Tensor? y, Tensor[] z, float a, int b) -> Tensor
  - func: >-
      values(Tensor x, ScalarType dtype=float16, Scalar s=1, float? e=None, *, bool[2] m=[True,False],
      str t='q') -> (Tensor, Tensor)
  - func: write_(Tensor(a!) x, Tensor(b!) y, *, int[]? k=None) -> ()
  - func: write_fresh(Tensor(a!) x, int from) -> (Tensor, Tensor)
  - func: many(Tensor x, int from) -> Tensor[]
  - func: attribute(Tensor x, SymInt n, Generator? g=None) -> Tensor
  - func: latent(Tensor x) -> Tensor
  - func: sized(Tensor x, SymInt n) -> Tensor
    ge: {prototype: sized.json}
  - func: cached_functional(Tensor c, Tensor x) -> (Tensor, Tensor)
    ge: {prototype: cached.json}
"""


def _like(x, *args, **kwargs):
    return torch.empty_like(x)


def _two(x, *args, **kwargs):
    return torch.empty_like(x), torch.empty_like(x)


META = {
    "plain": _like,
    "values": _two,
    "write_": lambda *args, **kwargs: None,
    "write_fresh": _two,
    "many": lambda x, *args, **kwargs: [torch.empty_like(x), torch.empty_like(x)],
    "attribute": _like,
    "latent": _like,
    "sized": _like,
    "cached_functional": _two,
}


def register() -> torch.library.Library:
    (DIRECTORY / "sized.json").write_text(json.dumps(SIZED), encoding="utf-8")
    (DIRECTORY / "cached.json").write_text(json.dumps(CACHED), encoding="utf-8")
    op_file = read(OPS, str(DIRECTORY / "ops.yaml"))
    library = torch.library.Library("npu", "FRAGMENT")
    for spec in op_file.operators:
        library.define(str(spec.schema))
        library.impl(spec.name, META[spec.name], "Meta")
        binding, findings = bind(spec)
        assert binding is not None, findings
        standin().define_ir(**ir_definition(binding.prototype))
        fresh = tuple(t.name for t, index in binding.results if index is not None)
        register_node(binding.prototype.op, NodeSpec(f"npu::{spec.name}", outputs=fresh))
    (DIRECTORY / "converters.py").write_text(emit(op_file, "npu", "# test\n"), encoding="utf-8")
    sys.path.insert(0, str(DIRECTORY))
    import converters  # noqa: F401

    return library


def compile_and_describe(function, dynamic=False):
    """Give the custom nodes of the graph, or the error that torchair stopped with."""
    torch._dynamo.reset()
    known = len(engine().graphs)
    x, y = torch.rand(4, 8).npu(), torch.rand(4, 8).npu()
    backend = torchair.get_npu_backend(compiler_config=torchair.CompilerConfig())
    try:
        torch.compile(function, backend=backend, fullgraph=True, dynamic=dynamic)(x, y)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    graph = engine().graphs[-1]
    assert len(engine().graphs) == known + 1
    customs = [node for node in graph.nodes if node.type.lower() in CUSTOM]
    return [
        {
            "type": node.type,
            "inputs": [[i.name, graph.node(i.source.node).type if i.source else None] for i in node.inputs],
            "outputs": [o.name for o in node.outputs],
            "attrs": node.ir_attrs,
            "refs": sorted(graph.output_refs.values()),
        }
        for node in customs
    ]


CUSTOM = {name.replace("_functional", "").replace("_", "") for name in META}
npu = torch.ops.npu
CALLS = {
    "plain": lambda x, y: npu.plain(x, y, [x, y], 2, 5),
    "absent": lambda x, y: npu.plain(x, None, [], 2.0, 5),
    "defaults": lambda x, y: npu.values(x),
    "given": lambda x, y: npu.values(x, torch.float32, 3, 0.5, m=[False, True], t="r"),
    "write": lambda x, y: npu.write_(x, y, k=[1, 2]),
    "write_fresh": lambda x, y: npu.write_fresh(x, 4),
    "many": lambda x, y: npu.many(x, 4),
    "attribute": lambda x, y: npu.attribute(x, 7),
    "latent": lambda x, y: npu.latent(x),
    "sized": lambda x, y: npu.sized(x, 7),
    "cached": lambda x, y: npu.cached_functional(x, y),
}
DYNAMIC = {
    "attribute dynamic": lambda x, y: npu.attribute(x, x.size(0)),
    "sized dynamic": lambda x, y: npu.sized(x, x.size(0)),
}

if __name__ == "__main__":
    keep = register()
    found = {name: compile_and_describe(call) for name, call in CALLS.items()}
    found |= {name: compile_and_describe(call, dynamic=True) for name, call in DYNAMIC.items()}
    (DIRECTORY / "found.json").write_text(json.dumps(found), encoding="utf-8")
