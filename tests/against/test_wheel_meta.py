"""The Meta kernels torch_npu itself ships, read from the installed wheel beside its operators' schemas."""

from __future__ import annotations

import importlib.metadata
import time
from pathlib import Path

import pytest
from comparing import declared

from opkit.against import compare
from opkit.read import read_file

pytestmark = pytest.mark.npu

OPERATORS = Path(__file__).parent / "torch_npu.yaml"
ERRORS = {
    ("npu_scatter_list", "OPK222"),
    ("npu_scatter_list_", "OPK222"),
    ("npu_scatter_list_", "OPK225"),
    ("npu_geglu_grad", "OPK222"),
    ("npu_geglu_grad", "OPK225"),
    ("npu_top_k_top_p", "OPK222"),
    ("npu_apply_rotary_pos_emb", "OPK223"),
    ("obfuscation_calculate", "OPK221"),
    ("npu_grouped_matmul_add", "OPK221"),
    ("npu_grouped_matmul_add", "OPK231"),
    ("npu_sim_exponential_", "OPK231"),
    ("npu_quant_matmul_reduce_sum", "OPK233"),
    ("kl_div_backward", "OPK223"),
}


def wheel() -> Path:
    """The directory torch_npu is installed in."""
    version = importlib.metadata.version("torch_npu")
    if not version.startswith("2.13.0"):
        pytest.skip(f"the findings are those of torch_npu 2.13.0, installed is {version}")
    return Path(str(importlib.metadata.distribution("torch_npu").locate_file("torch_npu")))


def test_the_errors_in_torch_npus_meta_kernels() -> None:
    path = wheel() / "op_plugin" / "meta" / "_meta_registrations.py"
    started = time.perf_counter()
    op_file, _ = read_file(OPERATORS)
    assert op_file is not None
    found = compare([op_file], [str(path)])
    assert time.perf_counter() - started < 10  # a guard against quadratic reading, not a promise of speed
    errors = {(d.operator, d.code) for d in found if d.severity.value == "error"}
    assert errors == ERRORS


def test_a_module_is_found_without_importing_it() -> None:
    wheel()
    sources = ["torch_npu.op_plugin.meta._fake_registrations", "torch_npu.op_plugin.atb"]
    found = compare([declared("npu_silu(Tensor self) -> Tensor")], sources)
    assert [d.code for d in found if d.severity.value == "error"] == []
    assert "not compared: 2 registrations in the namespace npu" in " ".join(d.message for d in found)


def test_torchairs_converters() -> None:
    directory = wheel() / "dynamo" / "torchair" / "_ge_concrete_graph" / "ge_converter" / "custom"
    schema = (
        "npu_apply_rotary_pos_emb(Tensor query, Tensor key, Tensor cos, Tensor sin, str layout='BSND', "
        "str rotary_mode='half') -> (Tensor, Tensor)"
    )
    found = compare([declared(schema)], [str(directory)])
    errors = [d for d in found if d.severity.value == "error"]
    assert [d.code for d in errors] == ["OPK223"]
    assert "the converter of npu_apply_rotary_pos_emb defaults to 'BSH'" in errors[0].message
