"""Results that are no single fresh tensor, and rules that depend on the machine, in the prover."""

from __future__ import annotations

from pathlib import Path

import pytest

from opkit.testing import Proof, prove

pytestmark = pytest.mark.npu

OPS = """
custom:
  - func: maybe(Tensor x, bool[2] mask) -> (Tensor, Tensor)
    op_api: all_version
    meta:
      a: {size: "x.shape if mask[0] else None", dtype: x}
      b: {size: "[x.size(0)] if mask[1] else None", dtype: x}
    cases:
      - {x: "f16[B, 4]", mask: [true, false], B: [2, 3]}
      - {name: second, x: "f16[B, 4]", mask: [false, true], B: [2, 3]}
  - func: several(Tensor x, Tensor y) -> Tensor[]
    op_api: all_version
    meta:
      a: {size: x, dtype: x}
      b: {size: y, dtype: y}
    cases: [{x: "f16[B, 4]", y: "f16[7]", B: [2, 3]}]
  - func: by_chip(Tensor x) -> Tensor
    op_api: all_version
    meta:
      out: {size: x, dtype: "float32 if soc < '950' else int8"}
    cases: [{x: "f16[B, 4]", B: [2, 3]}]
"""
MODULE = """
import torch

lib = torch.library.Library("others", "DEF")
lib.define("maybe(Tensor x, bool[2] mask) -> (Tensor, Tensor)")
lib.define("several(Tensor x, Tensor y) -> Tensor[]")
lib.define("by_chip(Tensor x) -> Tensor")
MAYBE = lambda x, mask: (x.clone() if mask[0] else None, x.sum(1) if mask[1] else None)
lib.impl("maybe", MAYBE, "PrivateUse1")
lib.impl("several", lambda x, y: [x.clone(), y.clone()], "PrivateUse1")
lib.impl("by_chip", lambda x: x.float(), "PrivateUse1")
"""
RIGHT = """
new = lambda x, mask: (torch.empty_like(x) if mask[0] else None, x.new_empty(x.shape[0]) if mask[1] else None)
lib.impl("maybe", new, "Meta")
lib.impl("several", lambda x, y: [torch.empty_like(x), torch.empty_like(y)], "Meta")
lib.impl("by_chip", lambda x: torch.empty_like(x, dtype=torch.float32), "Meta")
"""
WRONG = """
lib.impl("maybe", lambda x, mask: (torch.empty_like(x), None), "Meta")
lib.impl("several", lambda x, y: [torch.empty_like(x), torch.empty_like(x)], "Meta")
lib.impl("by_chip", lambda x: torch.empty_like(x, dtype=torch.int8), "Meta")
"""


def proof(folder: Path, meta: str) -> Proof:
    (folder / "ops.yaml").write_text(OPS)
    (folder / "others_module.py").write_text(MODULE + meta)
    module = folder / "others_module.py"
    return prove(folder / "ops.yaml", imports=[module], namespace="others", modes=["npugraph_ex"])


def meta_verdicts(found: Proof) -> dict[tuple[str, str], str]:
    return {
        (operator.name, operator.case): stage.reason or stage.verdict
        for operator in found.operators
        for stage in operator.modes[0].stages
        if stage.name == "meta"
    }


def test_right_ones_are_proved(tmp_path: Path) -> None:
    found = proof(tmp_path, RIGHT)
    assert set(meta_verdicts(found).values()) == {"proved"}
    assert found.enters, found.explain()


def test_wrong_ones_are_found(tmp_path: Path) -> None:
    reasons = meta_verdicts(proof(tmp_path, WRONG))
    assert reasons["maybe", "case1"] == "proved"
    assert "result 0 is float16[2, 4], the declared rule says None" in reasons["maybe", "second"]
    assert "result 1 is float16[2, 4], the declared rule says float16[7]" in reasons["several", "case1"]
    assert "result 0 is int8[2, 4], the declared rule says float32[2, 4]" in reasons["by_chip", "case1"]
