"""What a case says about refusal holds for the call as written, on the SoC it was written for."""

from __future__ import annotations

from pathlib import Path

from opkit.audit.protocol import HostReport
from opkit.audit.run import judge_host
from opkit.prove.plan import read
from opkit.testing import judge as shipped

RULE = """
custom:
  - func: npu_renorm_backward(Tensor grad, Tensor input, Scalar p, int dim, Scalar maxnorm) -> Tensor
    op_api: all_version
    meta:
      require: [[dim < input.dim(), bad dim], [p != 0, bad p]]
      out: {size: "broadcast(grad, input)", dtype: grad}
    cases:
      - {grad: "f32[3, N]", input: "f32[3, N]", N: [5, 7], p: 2, dim: DIM, maxnorm: 1.0, raises: RAISES}
"""
WITH_FLAGS = """
custom:
  - func: npu_giou(Tensor input, Tensor gtboxes, bool trans=False, bool is_cross=False, int mode=0) -> Tensor
    acl_op: all_version
    meta: {python: "rule.py:giou"}
    cases:
      - {input: "f32[4, 7]", gtboxes: "f32[4, 9]", trans: false, raises: true}
"""
FUNCTION = """
import torch


def giou(input, gtboxes, trans=False, is_cross=False, mode=0):
    torch._check(trans and not is_cross, lambda: "only this form")
    return input.new_empty(1, input.shape[1]).t()
"""


def judge(tmp_path: Path, text: str, *socs: str) -> HostReport:
    path = tmp_path / "ops.yaml"
    path.write_text(text)
    (tmp_path / "rule.py").write_text(FUNCTION)
    return judge_host([read(str(path))], socs=socs)


def verdicts(report: HostReport) -> list[str]:
    return [comparison.verdict for judgement in report.judgements for comparison in judgement.comparisons]


def test_a_refused_case_may_be_accepted_once_it_is_varied(tmp_path: Path) -> None:
    report = judge(tmp_path, WITH_FLAGS, "910B")
    found = {c.call: c.verdict for c in report.judgements[0].comparisons}
    assert set(found.values()) == {"agrees", "both raise"}, found
    assert found[next(name for name in found if name.endswith("trans=True"))] == "agrees"


def test_a_case_that_should_be_refused_and_is_not_is_reported(tmp_path: Path) -> None:
    report = judge(tmp_path, RULE.replace("DIM", "1").replace("RAISES", "true"), "910B", "950")
    # The other sizes, and the second SoC, may accept what the case says is refused.
    assert verdicts(report)[:2] == ["differs", "agrees"]
    assert set(verdicts(report)[2:]) == {"agrees"}


def test_a_case_that_is_refused_unexpectedly_is_reported(tmp_path: Path) -> None:
    report = judge(tmp_path, RULE.replace("DIM", "5").replace("RAISES", "false"), "910B")
    assert verdicts(report)[0] == "host raises"


def test_refusals_of_shipped_cases_hold_on_the_soc_they_were_written_for() -> None:
    names = ("npu_silu_", "npu_rotary_mul_backward", "npu_dual_level_quant_matmul")
    other = shipped("torch_npu", operators=names, socs=("950",))
    # Of the first every call is refused there, by both; of the others a case marked `raises` is taken.
    assert other.agrees, other.explain()
    assert other.elsewhere == {"npu_silu_"}
    marked = shipped("torch_npu", operators=names, socs=("910B",))
    assert marked.agrees, marked.explain()
    assert marked.elsewhere == {"npu_dual_level_quant_matmul"}


def test_the_same_cases_in_a_file_of_ones_own_were_written_for_the_soc_asked(tmp_path: Path) -> None:
    taken = judge(tmp_path, RULE.replace("DIM", "1").replace("RAISES", "true"), "950")
    assert not taken.agrees
    refused = judge(tmp_path, RULE.replace("DIM", "5").replace("RAISES", "true"), "950")
    assert not refused.agrees
    assert refused.uncompared == {"npu_renorm_backward"}
    assert not refused.elsewhere
