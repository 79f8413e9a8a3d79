"""The host judge: each way in which a rule can differ from the host code is found, and its twin agrees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from opkit.audit.protocol import HostReport, Judgement
from opkit.audit.run import judge_host
from opkit.errors import OpkitError
from opkit.prove.plan import read
from opkit.report.host import render

pytestmark = pytest.mark.npu

PTIOU = "npu_ptiou(Tensor bboxes, Tensor gtboxes, int mode=0) -> Tensor"
PTIOU_CASE = '{bboxes: "T[M, 4]", gtboxes: "T[N, 4]", M: [5, 7], N: [3, 9], T: [f16, f32]}'
MASK = "npu_dropout_do_mask(Tensor input, Tensor mask, float p) -> (Tensor, Tensor)"
MASK_CASE = '{input: "f16[3, 5]", mask: "u8[16]", p: 0.5}'
DEPTHWISE = (
    "_conv_depthwise2d_backward(Tensor grad_output, Tensor input, Tensor weight, int[2] kernel_size, "
    "int[2] stride, int[2] padding, int[2] dilation, bool[2] output_mask) -> "
    "(Tensor grad_input, Tensor grad_weight)"
)
DEPTHWISE_CASE = (
    '{grad_output: "f32[2, 6, 7, 9]", input: "f32[2, 6, 8, 10]", weight: "f32[6, 1, 3, 3]", kernel_size: 3, '
    "stride: 1, padding: 0, dilation: 1, output_mask: [true, true]}"
)
RENORM = "npu_renorm_backward(Tensor grad, Tensor input, Scalar p, int dim, Scalar maxnorm) -> Tensor"
RENORM_CASE = '{grad: "f32[3, 5]", input: "f32[3, 5]", p: 2, dim: 9, maxnorm: 1.0, raises: true}'
RENORM_GOOD = '{name: good, grad: "f32[3, 5]", input: "f32[3, 5]", p: 2, dim: 0, maxnorm: 1.0}'
ONE_HOT = (
    "npu_one_hot(Tensor input, int num_classes=-1, int depth=1, Scalar on_value=1, Scalar off_value=0) "
    "-> Tensor"
)
ONE_HOT_CASE = '{input: "i32[3, 5]", depth: 7}'

AREA = 'out: {size: "[gtboxes.size(0), bboxes.size(0)]", dtype: bboxes}'
AREA_TURNED = 'out: {size: "[bboxes.size(0), gtboxes.size(0)]", dtype: bboxes}'
LIKE_GRAD = "out: {size: grad, dtype: grad}"
LIKE_INPUT = "out: {size: input, dtype: input}"
MASKED = """a: {size: "input.shape if output_mask[0] else None", dtype: input}
      b: {size: "weight.shape if output_mask[1] else None", dtype: weight}"""
UNMASKED = "a: {size: input, dtype: input}\n      b: {size: weight, dtype: weight}"
BY_SOC = 'out: {size: "input.shape + [depth]", dtype: float32 if soc < "950" else int64}'


@dataclass(frozen=True)
class Twins:
    """A right rule, a wrong one, and what the judge says about the wrong one."""

    func: str
    kernels: str
    cases: tuple[str, ...]
    good: str
    broken: str
    verdict: str
    soc: str = "910B"


TWINS = {
    "size": Twins(PTIOU, "acl_op", (PTIOU_CASE,), AREA, "out: {size: gtboxes, dtype: bboxes}", "differs"),
    "dtype": Twins(PTIOU, "acl_op", (PTIOU_CASE,), AREA, AREA.replace(" bboxes}", " float16}"), "differs"),
    "order": Twins(PTIOU, "acl_op", (PTIOU_CASE,), AREA, AREA_TURNED, "differs"),
    "alias": Twins(
        MASK,
        "acl_op",
        (MASK_CASE,),
        f"{LIKE_INPUT}\n      mask: {{alias: mask}}",
        f"{LIKE_INPUT}\n      mask: {{size: mask, dtype: mask}}",
        "differs",
    ),
    "empty": Twins(
        PTIOU,
        "acl_op",
        (PTIOU_CASE,),
        AREA,
        f"require: [[bboxes.size(0) > 0, bad]]\n      {AREA}",
        "rule raises",
    ),
    "none": Twins(DEPTHWISE, "acl_op", (DEPTHWISE_CASE,), MASKED, UNMASKED, "differs"),
    "refusal": Twins(
        RENORM,
        "op_api",
        (RENORM_GOOD, RENORM_CASE),
        f"require: [[dim < input.dim(), bad]]\n      {LIKE_GRAD}",
        LIKE_GRAD,
        "host raises",
    ),
    "strict": Twins(
        RENORM,
        "op_api",
        (RENORM_GOOD,),
        LIKE_GRAD,
        f"require: [[dim > 0, bad]]\n      {LIKE_GRAD}",
        "rule raises",
    ),
    "soc": Twins(
        ONE_HOT, "op_api", (ONE_HOT_CASE,), BY_SOC, BY_SOC.split(" if soc")[0] + "}", "differs", "950"
    ),
}


def write(path: Path, func: str, kernels: str, meta: str, cases: Sequence[str]) -> str:
    lines = "".join(f"      - {case}\n" for case in cases)
    path.write_text(
        f"custom:\n  - func: {func}\n    {kernels}: all_version\n    meta:\n      {meta}\n    cases:\n{lines}"
    )
    return str(path)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> HostReport:
    """Judge all rules, good and broken, in one run."""
    folder = tmp_path_factory.mktemp("rules")
    files = [
        read(write(folder / f"{name}-{kind}.yaml", twins.func, twins.kernels, meta, twins.cases))
        for name, twins in TWINS.items()
        for kind, meta in (("good", twins.good), ("broken", twins.broken))
    ]
    return judge_host(files, socs=("910B", "950"))


def judgement(report: HostReport, file: str, soc: str) -> Judgement:
    return next(j for j in report.judgements if Path(j.file).name == file and j.soc == soc)


@pytest.mark.parametrize("name", TWINS)
def test_a_right_rule_agrees(report: HostReport, name: str) -> None:
    for soc in ("910B", "950"):
        found = judgement(report, f"{name}-good.yaml", soc)
        assert found.agrees, render(HostReport("", "", "", (found,)))


@pytest.mark.parametrize("name", TWINS)
def test_a_wrong_rule_is_found(report: HostReport, name: str) -> None:
    found = judgement(report, f"{name}-broken.yaml", TWINS[name].soc)
    assert not found.agrees
    assert TWINS[name].verdict in found.counts
    assert not report.agrees


def test_an_operator_with_only_aclop_refuses_every_call_on_ascend950(report: HostReport) -> None:
    assert set(judgement(report, "size-good.yaml", "950").counts) == {"both raise"}


def test_what_cannot_be_judged_says_why(tmp_path: Path) -> None:
    text = (
        "custom:\n"
        "  - func: npu_no_such_operator(Tensor x) -> Tensor\n    op_api: all_version\n"
        "    meta: {out: {size: x, dtype: x}}\n    cases: [{x: 'f32[2]'}]\n"
        f"  - func: {PTIOU}\n    acl_op: all_version\n    meta: {{out: {{size: bboxes, dtype: bboxes}}}}\n"
        "  - func: npu_mish(Tensor input, int more) -> Tensor\n    acl_op: all_version\n"
        "    meta: {out: {size: input, dtype: input}}\n    cases: [{input: 'f32[2]', more: 1}]\n"
    )
    path = tmp_path / "ops.yaml"
    path.write_text(text)
    report = judge_host([read(str(path))])
    reasons = [j.comparisons[0].rule for j in report.judgements]
    assert all(set(j.counts) == {"unusable"} for j in report.judgements)
    assert "has no operator" in reasons[0]
    assert "`cases:`" in reasons[1]
    assert "another schema" in reasons[2]
    assert not report.agrees


def test_a_crash_costs_its_operator_only(tmp_path: Path) -> None:
    (tmp_path / "rules.py").write_text("import os\n\ndef crash(bboxes, gtboxes, mode=0):\n    os.abort()\n")
    text = (
        f"custom:\n  - func: {PTIOU}\n    acl_op: all_version\n    meta: {{python: 'rules.py:crash'}}\n"
        f"    cases: [{PTIOU_CASE}]\n"
        f"  - func: {RENORM}\n    op_api: all_version\n    meta: {{out: {{size: grad, dtype: grad}}}}\n"
        f"    cases: [{RENORM_GOOD}]\n"
    )
    path = tmp_path / "ops.yaml"
    path.write_text(text)
    crashed, fine = judge_host([read(str(path))]).judgements
    assert crashed.comparisons[0].verdict == "host crashes"
    assert "SIGABRT" in crashed.comparisons[0].host
    assert fine.agrees


def test_an_unknown_operator_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / "ops.yaml", PTIOU, "acl_op", "out: {size: bboxes, dtype: bboxes}", [PTIOU_CASE])
    with pytest.raises(OpkitError, match="npu_other"):
        judge_host([read(path)], operators=("npu_other",))


MATMUL = (
    "npu_dual_level_quant_matmul(Tensor x1, Tensor x2, Tensor x1_level0_scale, Tensor x2_level0_scale, "
    "Tensor x1_level1_scale, Tensor x2_level1_scale, *, Tensor? bias=None, int output_dtype=15) -> Tensor"
)
MATMUL_CASE = (
    '{{name: {name}, x1: "u8[6, 64]", x2: "{place}u8[10, 64]", x1_level0_scale: "f32[3]", '
    'x2_level0_scale: "f32[3]", x1_level1_scale: "u8[3]", x2_level1_scale: "u8[3]"}}'
)


def test_a_tensor_in_another_format(tmp_path: Path) -> None:
    """The host takes x2 in FRACTAL_NZ only; the rule of the test does not look."""
    cases = [MATMUL_CASE.format(name="nz", place="nz "), MATMUL_CASE.format(name="plain", place="")]
    meta = 'out: {size: "[x1.size(0), x2.size(0)]", dtype: bfloat16}'
    path = write(tmp_path / "format.yaml", MATMUL, "op_api", meta, cases)
    (judgement,) = judge_host([read(path)], socs=["950"], cann="9.0.0").judgements
    as_written = {c.call: c.verdict for c in judgement.comparisons if "," not in c.call}
    assert as_written == {"nz": "agrees", "plain": "host raises"}
