"""Generated packages beside the real torch_npu and torchair, in a process of their own."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from declarations import SAMPLE, op_file

from opkit.emit.meta_kernel import Options
from opkit.emit.package import generate

pytestmark = pytest.mark.npu

OPS = (
    SAMPLE
    + """
  # torch_npu has this one, as `npu_mish(Tensor input) -> Tensor` and without a Meta kernel.
  - func: npu_mish(Tensor self) -> Tensor
    acl_op: all_version
    meta: {out: {size: self, dtype: self}}
  # torch_npu has this one with a Meta kernel.
  - func: npu_swiglu(Tensor self, int dim=-1) -> Tensor
    op_api: all_version
    meta: {out: {size: "set(self.shape, dim, self.size(dim) // 2)", dtype: self}}
  - func: my_seed(int n, *, Device? device=None) -> Tensor
    op_api: all_version
    meta: {out: {size: "[n]", dtype: uint8}}
"""
)
START = """
import sys
import os
os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
from opkit.cann.load import ensure_runtime
ensure_runtime()
import torch, torch_npu
"""
HAS_META = "torch._C._dispatch_has_kernel_for_dispatch_key({!r}, 'Meta')"


def run(directory: Path, script: str) -> str:
    """Run a script in a process that has the runtime, torch_npu, and the generated packages."""
    text = START + f"sys.path.insert(0, {str(directory)!r})\n" + textwrap.dedent(script)
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=240, cwd=directory
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    file = op_file(OPS, str(tmp_path / "ops.yaml"))
    generate(file, tmp_path / "npu_ops").write(tmp_path / "npu_ops")
    sample = op_file(SAMPLE, str(tmp_path / "ops.yaml"))
    generate(sample, tmp_path / "own_ops", "custom-op", Options("own_ops")).write(tmp_path / "own_ops")
    return tmp_path


def test_beside_the_operators_of_torch_npu(packages: Path) -> None:
    run(
        packages,
        f"""
        assert not {HAS_META.format("npu::npu_mish")}
        assert {HAS_META.format("npu::npu_swiglu")}
        import npu_ops, own_ops
        assert {HAS_META.format("npu::npu_mish")}
        from torch._subclasses.fake_tensor import FakeTensorMode
        assert own_ops.meta.DEVICE == "npu"
        assert torch._C._dispatch_has_kernel_for_dispatch_key("own_ops::my_op", "PrivateUse1")
        with FakeTensorMode():
            x = torch.empty(2, 6, device="npu", dtype=torch.float16)
            mine = (npu_ops.my_op(x, None, [x], 1.0, 2), own_ops.my_op(x, x, [], 1.0, 2))
            for result in (npu_ops.npu_mish(x), *mine):
                assert (result.shape, result.dtype, result.device.type) == (x.shape, x.dtype, "npu")
            assert npu_ops.npu_swiglu(x).shape == (2, 3)
            assert npu_ops.my_seed(5).device.type == "npu"
            assert npu_ops.my_seed(5, device=torch.device("cpu")).device.type == "cpu"
        """,
    )


@pytest.mark.parametrize("package_first", [True, False])
def test_converters_arrive_with_torchair(packages: Path, package_first: bool) -> None:
    run(
        packages,
        f"""
        def registered():
            operators = (torch.ops.npu.my_op.default, torch.ops.own_ops.my_inplace.default)
            return [hasattr(o, "_ge_converter") for o in operators]
        if {package_first}:
            import npu_ops, own_ops
            assert registered() == [False, False]
            assert "torch_npu.dynamo.torchair" not in sys.modules
        import torchair
        torchair.CompilerConfig()
        if not {package_first}:
            import npu_ops, own_ops
        assert registered() == [True, True]
        """,
    )


def test_npugraph_ex_does_not_load_torchair(packages: Path) -> None:
    kernel = "def my_op(x, y, z, attr1, attr2):\n    return x * attr1 + sum(z) + attr2\n"
    (packages / "own_ops" / "kernels.py").write_text(kernel)
    run(
        packages,
        """
        import npu_ops, own_ops
        torch._dynamo.config.error_on_recompile = True
        model = lambda x, z: own_ops.my_op(x, None, [z], 2.0, 1)
        compiled = torch.compile(model, backend="npugraph_ex", fullgraph=True)
        x = torch.ones(2, 4, device="npu")
        for _ in range(2):
            result = compiled(x, x)
        assert result.shape == (2, 4)
        assert "torch_npu.dynamo.torchair" not in sys.modules
        assert "npu_ops.converters" not in sys.modules
        """,
    )
