"""Some mutants of the sample operators and of 40 operators of torch_npu: none survives.

docs/self_test.md says how to judge all of them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from opkit.prove.mutants.matrix import KILLED, Matrix
from opkit.prove.mutants.run import self_test
from opkit.prove.mutants.sample import Sample
from opkit.prove.plan import Plan

pytestmark = pytest.mark.npu

ROOT = Path(__file__).parents[2]
SHIPPED = """
activation: npu_geglu_grad npu_gelu_quant npu_swiglu
hyper_connections: npu_mhc_sinkhorn_backward
kv_cache: npu_advance_step_flashattn
loss: npu_fused_linear_online_max_sum npu_fused_cross_entropy_loss_with_max_sum kl_div_backward
loss: npu_fused_linear_cross_entropy_loss_with_max_sum_backward kl_div_target_backward
loss: npu_binary_cross_entropy_with_logits_backward
moe_combine: npu_moe_distribute_combine_add_rms_norm
moe_routing: npu_moe_init_routing_quant npu_moe_gating_top_k_backward npu_moe_gating_top_k_softmax_v2
mx_quantization: npu_swiglu_mx_quant_with_dual_axis _npu_swiglu_backward_mx_quant_with_dual_axis
normalization: npu_group_norm_swish_grad npu_add_layer_norm_backward npu_deep_norm_backward
recurrent: _lstm_npu _lstm_npu_backward _gru_npu _gru_npu_backward
roi: npu_roi_align npu_roi_alignbk
sampling: npu_top_k_top_p
scatter: npu_quant_scatter npu_scatter_list npu_scatter_list_
silent_check: _npu_silent_check_v2 _npu_silent_check_v3
slicing: npu_gather_sparse_index_backward
sparse_attention: npu_nsa_compress npu_nsa_compress_grad npu_nsa_compress_attention
sparse_attention: npu_nsa_compress_attention_infer npu_nsa_select_attention
sparse_attention: npu_nsa_select_attention_grad npu_nsa_select_attention_infer
"""


def _test(files: list[Path], sample: Sample, **options: tuple[str, ...]) -> Matrix:
    matrix = self_test(Plan(files=tuple(map(str, files)), **options), sample=sample)  # type: ignore[arg-type]
    assert [(b.operator, b.mode, b.reason) for b in matrix.baselines if b.outcome != "enters"] == []
    assert [(v.operator, v.kind, v.place) for v in matrix.survivors] == []
    assert matrix.passes
    return matrix


def test_samples() -> None:
    files = [ROOT / "samples" / name / "ops.yaml" for name in ("my_op", "my_inplace")]
    matrix = _test(files, Sample(8, seed=1))
    assert {(b.operator, b.style, b.mode) for b in matrix.baselines} >= {
        (name, style, "npugraph_ex") for name in ("my_op", "my_inplace") for style in ("library", "custom-op")
    }
    assert len([v for v in matrix.verdicts if v.outcome == KILLED]) >= 40


def test_forty_operators_of_torch_npu() -> None:
    lines = [line.split(": ") for line in SHIPPED.split("\n") if line]
    files = [ROOT / "yaml_schemas" / "torch_npu" / f"{file}.yaml" for file in dict(lines)]
    names = tuple(name for _, listed in lines for name in listed.split())
    assert len(names) == len(set(names)) >= 40
    matrix = _test(files, Sample(3), operators=names, modes=("npugraph_ex",), styles=("library",))
    assert {b.operator for b in matrix.baselines} == set(names)
    # A seed that shows few kinds shows little.
    assert len({v.kind for v in matrix.verdicts if v.outcome == KILLED}) >= 30
