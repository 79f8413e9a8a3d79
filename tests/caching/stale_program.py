"""Runs one model through `cache_compile` in both ways and prints what came of it, as JSON.

`MODE VERSION DIRECTORY`: the operator of version 2 has another Meta kernel and another converter than that of
version 1, and its kernel goes with them. The model and its input are the same.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

# {rows}: how many rows the result has; {ir}: what the converter makes of it.
OPS = """
import torch

library = torch.library.Library("stale", "FRAGMENT")
library.define("f(Tensor x) -> Tensor")


def meta(x):
    return x.new_empty((x.shape[0] + {rows}, x.shape[1]))


def kernel(x):
    return torch.nn.functional.pad(x, (0, 0, 0, {rows}))


library.impl("f", meta, "Meta")
library.impl("f", kernel, "PrivateUse1")


def convert():
    import torchair
    from torchair._ge_concrete_graph import ge_apis

    @torchair.register_fx_node_ge_converter(torch.ops.stale.f.default)
    def converter(x, meta_outputs=None):
        return ge_apis.{ir}(x, x)
"""


def main(mode: str, version: int, directory: Path) -> dict[str, Any]:
    from opkit.cann.load import ensure_runtime

    ensure_runtime(True)
    import torch
    import torch_npu  # noqa: F401

    from opkit.cann.hook import equip

    torch.npu.set_device(0)
    equip()
    if mode == "ge":
        import torchair

        torchair.get_npu_backend(compiler_config=torchair.CompilerConfig())
    # In GE the converter alone changes, so that the shapes of both versions agree.
    rows = version if mode == "npugraph_ex" else 0
    package = directory / "stale_ops"
    package.mkdir(exist_ok=True)
    (package / "__init__.py").write_text(OPS.format(rows=rows, ir={1: "Add", 2: "Mul"}[version]))
    sys.path.insert(0, str(directory))
    import stale_ops

    import opkit

    if mode == "ge":
        stale_ops.convert()

    class Model(torch.nn.Module):
        def forward(self, x):
            return torch.ops.stale.f(x) if mode == "ge" else torch.ops.stale.f(x).shape[0] * x

    x = torch.full((3, 4), 5.0).npu()
    found = {}
    ways = {"plain": str(directory / "plain"), "opkit": opkit.cache_dir(directory, torch.ops.stale.f)}
    for way, cache in ways.items():
        torch._dynamo.reset()
        if mode == "ge":
            compiled = torchair.inference.cache_compile(Model().forward, dynamic=False, cache_dir=cache)
        else:
            compiled = torch.npu.npugraph_ex.inference.cache_compile(
                Model().forward, dynamic=False, cache_dir=cache
            )
        result = compiled(x).cpu()
        hit = type(compiled._compiled_model).__name__ != "ModelCacheSaver"
        found[way] = {"hit": hit, "value": result[0, 0].item()}
    return found


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))))
