"""An operator without a tensor: as custom_op its kernel is for all devices; the reference replaces it."""

from __future__ import annotations

from pathlib import Path

import pytest

from opkit.testing import prove


@pytest.mark.npu
def test_the_reference_runs_in_place_of_an_unwritten_kernel(tmp_path: Path) -> None:
    (tmp_path / "ops.yaml").write_text(
        "custom:\n"
        "  - func: table(int n) -> Tensor\n"
        "    meta: {out: {size: '[n, 3]', dtype: float32}}\n"
        "    reference: reference.py:table\n"
        "    cases: [{n: 5}]\n"
    )
    (tmp_path / "reference.py").write_text(
        "import torch\n\ndef table(n):\n    return torch.arange(n * 3.0).reshape(n, 3)\n"
    )
    proof = prove(tmp_path / "ops.yaml", modes=["npugraph_ex"])
    found = {op.style: op.modes[0] for op in proof.operators}
    assert found["custom-op"].verdict == "enters", found["custom-op"].reason
    assert "values" in [stage.name for stage in found["custom-op"].stages]
    # Nothing in the library style tells the dispatcher that the operator is the NPU's.
    assert "There were no tensor arguments" in found["library"].reason
