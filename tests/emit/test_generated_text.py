"""What generated modules look like, as snapshots: a change of the text is to be seen in review."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from declarations import op_file
from syrupy.assertion import SnapshotAssertion

from opkit import __version__
from opkit.emit import emit_meta

OPS = """
custom:
  - func: >-
      rms_norm_like(Tensor x, Tensor gamma, Tensor? bias=None, float epsilon=1e-6) -> (Tensor y, Tensor rstd)
    op_api: all_version
    gen_opapi:
      y: {size: "rms_norm_npu_output_size(x, gamma)[0]", dtype: x}
      rstd: {size: "rms_norm_npu_output_size(x, gamma)[1]", dtype: "at::kFloat"}
      exec: aclnnRmsNormLike
  - func: halve(Tensor x, *, ScalarType? dtype=None, int[2] pads=[0,0], str layout="BSH") -> Tensor
    op_api: all_version
    tags: nondeterministic_seeded
    meta:
      let: {n: x.size(-1)}
      require:
        - [n % 2 == 0, "last dim of x must be even, got {n}"]
      out: {size: "set(x.shape, -1, n // 2)", dtype: "dtype if present(dtype) else x.dtype"}
  - func: write_cache(Tensor(a!) cache, Tensor x) -> ()
    op_api: all_version
  - func: prefetch(Tensor x, int max_size) -> ()
    op_api: all_version
    side_effect: true
"""


@pytest.mark.parametrize("style", ["library", "custom-op"])
def test_the_text(style: str, snapshot: SnapshotAssertion) -> None:
    text = emit_meta(op_file(OPS), style, "mylib")
    assert text.replace(f"opkit {__version__}", "opkit VERSION") == snapshot


@pytest.mark.parametrize("style", ["library", "custom-op"])
def test_the_text_is_as_formatters_and_linters_want_it(style: str, tmp_path: Path) -> None:
    path = tmp_path / "meta.py"
    path.write_text(emit_meta(op_file(OPS), style, "mylib"), encoding="utf-8")
    ruff = [sys.executable, "-m", "ruff"]
    if subprocess.run([*ruff, "--version"], capture_output=True).returncode:
        pytest.skip("ruff is not installed")
    for command in (
        [*ruff, "check", "--isolated", "--select", "E,F,I,UP,W", "--line-length", "100", str(path)],
        [*ruff, "format", "--isolated", "--check", "--diff", "--line-length", "100", str(path)],
    ):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
