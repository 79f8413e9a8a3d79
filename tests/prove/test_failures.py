"""Every way in which an operator can fail to enter a graph is found, at its stage and with its reason.

The operators of broken/ run on the real torch, torch_npu and torchair, all of a mode in one process.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from opkit.prove.protocol import BREAKS, ENTERS, NOT_RUN, ModeResult, Proof

BROKEN = Path(__file__).parent / "broken"

pytestmark = pytest.mark.npu

NPUGRAPH_EX = {
    "returns_mutated": ("schema", "result 0 is the argument `x` itself"),
    "no_meta": ("meta", "no Meta kernel is registered for broken::no_meta"),
    "late_meta": ("meta", "registered after a model with the operator had been compiled"),
    "returns_input": ("meta", "result 0 of the Meta kernel shares the memory of its input `x`"),
    "wrong_device": ("meta", "result 0 is on cpu, the inputs are on npu:0"),
    "wrong_dtype": ("meta", "result 0 is float32[5, 7], the declared rule says float16[5, 7]"),
    "wrong_shape": ("meta", "result 0 is float16[5, 7], the declared rule says float16[5, 2]"),
    "hard_coded": ("meta", "result 0 is float16[5, 7], the declared rule says float16[9, 7]"),
    "hard_coded_in_one_size": (
        "meta",
        "with other sizes result 0 is [4, 14], the declared rule says [8, 14], for x.shape[0]=8",
    ),
    "wrong_count": ("meta", "the Meta kernel returns 1 result, the schema has 2"),
    "one_for_two": ("meta", "the Meta kernel returns 1 result, the schema has 2"),
    "no_default": ("meta", "`n` has a default (1) in the schema, none in the function"),
    "other_default": ("meta", "`n` defaults to 1 in the schema and to 2 in the function"),
    "fixed_size": ("meta", "x.shape[0] was fixed to 5"),
    "branches": ("meta", "the Meta kernel branches on a size"),
    "resizes": ("meta", "changed shape, strides or dtype of `x`"),
    "writes_argument": ("host", "the kernel writes x, which the schema declares as read-only"),
    "writes_nothing": ("host", "no value of x changed in any call, and the schema says that it is written"),
    "kernel_returns_input": ("host", "result 0 of the kernel is the memory of its argument x"),
    "other_strides": ("host", "strides [1, 5], the Meta kernel says float16[5, 7]"),
    "other_shape_in_one_size": ("host", "with B0=9: result 0 of the kernel is float16[63]"),
    "returns_input_in_one_size": (
        "host",
        "with B0=13: result 0 of the kernel is the memory of its argument x",
    ),
    "writes_argument_later": ("host", "the kernel writes x, which the schema declares as read-only"),
    "host_random": ("host", "two calls with the same inputs do not give the same"),
    "meta_of_one_dtype": ("host", "with T=float32: result 0 of the kernel is float32[3, 8]"),
    "decomposes": ("dynamo", "CompositeImplicitAutograd"),
    "effect_only": ("dynamo", "it is removed as dead code"),
    "graph_break": ("dynamo", " (functions.py:6)"),
    "called_mode": ("dynamo", "(OPK105: torch cannot functionalize `called_mode`"),
    "never_called": ("dynamo", "`call` never called broken::never_called"),
    "recompiles": ("npugraph_ex", "under dynamic=True set 2 of the sizes compiles again"),
    "fails_when_replayed": ("npugraph_ex", "the captured work fails when it runs: broken::fails_when_rep"),
    "launches_nothing": ("npugraph_ex", "nothing was captured"),
    "synchronises": (
        "npugraph_ex",
        "broken::synchronises made a call that is not allowed while capturing: aclrt",
    ),
    "other_when_captured": ("values", "first call: result 0 differs from the eager call"),
    "other_shape_when_captured": (
        "npugraph_ex",
        "with set 2 of the sizes: result 0 of the graph is float16[63]",
    ),
    "wrong_values": ("values", "result 0 differs from the reference"),
    "absolute": ("values", "result 0 differs from the reference"),
}
GE = {
    "missing": ("ge", "no GE converter is registered for torch.ops.converted.missing.default"),
    "wrong_output": ("ge", "result 0 is Fine.b, the declaration says output `a` of Fine"),
    "swapped_inputs": ("ge", "input `x` of Fine is fed by y instead of x"),
    "wrong_attribute": ("ge", "attribute `n` is 4, the case gives 3"),
    "ignores_attribute": (
        "ge",
        "again with n=4, f=1.25: attribute `f` is 0.5, the case gives 1.25",
    ),
    "wrong_ir": ("ge", "the converter builds Other, declared Fine"),
    "misspelt_ir": ("ge", "the converter builds Fnie, declared Fine"),
    "no_node": ("ge", "the graph holds no InPlace node, only Data, Identity"),
    "raises": ("ge", "ValueError: this converter is not finished"),
    "no_reference_output": ("ge", "NoReference has no output named like the input 'x' that it writes"),
    "renamed_output": ("ge", "the update goes through a copy"),
    "node_after": ("ge", "the update goes through a copy"),
}


# Operators that change or refuse only some values, or draw their own.
HEALTHY = ["root", "clamp_", "relu_", "draws"]


@pytest.fixture(scope="module")
def npugraph_ex(proof_of: Callable[..., Proof]) -> Proof:
    return proof_of(BROKEN / "ops.yaml", imports=[BROKEN / "operators.py"], modes=["npugraph_ex"])


@pytest.fixture(scope="module")
def ge(proof_of: Callable[..., Proof]) -> Proof:
    return proof_of(BROKEN / "converters.yaml", imports=[BROKEN / "converters.py"], modes=["ge"])


def result(proof: Proof, name: str) -> ModeResult:
    [operator] = [o for o in proof.operators if o.name == name]
    assert operator.style == "import"
    [mode] = operator.modes
    return mode


@pytest.mark.parametrize("name", NPUGRAPH_EX)
def test_npugraph_ex(npugraph_ex: Proof, name: str) -> None:
    check(result(npugraph_ex, name), *NPUGRAPH_EX[name])


@pytest.mark.parametrize("name", GE)
def test_ge(ge: Proof, name: str) -> None:
    check(result(ge, name), *GE[name])


def check(mode: ModeResult, stage: str, text: str) -> None:
    assert mode.verdict == BREAKS
    assert mode.reason.startswith(f"{stage}: ")
    assert text in mode.reason
    assert "Traceback" not in mode.reason
    position = [s.name for s in mode.stages].index(stage)
    assert [s.verdict for s in mode.stages[:position]] == ["proved"] * position
    after = mode.stages[position + 1 :]
    assert all(s.verdict == "not run" and s.reason == f"because {stage} failed" for s in after)


def test_all_are_listed(npugraph_ex: Proof, ge: Proof) -> None:
    for proof, table in ((npugraph_ex, NPUGRAPH_EX), (ge, GE)):
        names = [operator.name for operator in proof.operators]
        extra = (
            ["small_sizes", "none_written", "strides_of_input", *HEALTHY]
            if table is NPUGRAPH_EX
            else ["one_value_only"]
        )
        assert sorted(names) == sorted([*table, "fine", "fine_", *extra])
        assert not proof.enters


@pytest.mark.parametrize("name", ["fine", "fine_"])
def test_the_healthy_ones_enter(npugraph_ex: Proof, ge: Proof, name: str) -> None:
    for proof in (npugraph_ex, ge):
        mode = result(proof, name)
        assert mode.verdict == ENTERS, mode.reason
        assert [stage.name for stage in mode.stages][-2:] == ["values", "composition"]


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_with_few_values(npugraph_ex: Proof, name: str) -> None:
    mode = result(npugraph_ex, name)
    assert mode.verdict == ENTERS, mode.reason
    [evidence] = [s.evidence for s in mode.stages if s.name == "host"]
    assert ("values" in evidence) == (name == "root")
    assert ("random" in evidence) == (name == "draws")


def test_a_case_that_writes_nothing(npugraph_ex: Proof) -> None:
    mode = result(npugraph_ex, "none_written")
    assert mode.verdict == NOT_RUN
    assert mode.reason.startswith("dynamo: because the case gives no tensor for `y`")


def test_evidence_of_a_replay(npugraph_ex: Proof) -> None:
    [evidence] = [s.evidence for s in result(npugraph_ex, "fine_").stages if s.name == "npugraph_ex"]
    assert evidence["tasks"] == ["broken::fine_"]
    assert evidence["captures"] == {"first call": 1, "replay": 0}
    assert evidence["replay function"] is True
    assert evidence["recompiles"] == 0
    calls = evidence["kernel calls"]
    assert calls["before the replay"] > 0
    assert calls["during the replay"] == 0
    assert evidence["written by replay"] == ["x"]
    assert evidence["sizes"] == "3 sets of sizes, one FX graph, 3 captures"


def test_sizes_of_0_and_1_are_judged_on_their_own(npugraph_ex: Proof) -> None:
    mode = result(npugraph_ex, "small_sizes")
    assert mode.verdict == ENTERS, mode.reason
    [evidence] = [s.evidence for s in mode.stages if s.name == "npugraph_ex"]
    assert evidence["sizes"].startswith("2 sets of sizes, one FX graph, 2 captures; 2 with a dim of 0 or 1")


def test_an_attribute_with_one_value_only_is_named(ge: Proof) -> None:
    mode = result(ge, "one_value_only")
    assert mode.verdict == ENTERS, mode.reason
    [evidence] = [s.evidence for s in mode.stages if s.name == "ge"]
    [(name, why)] = evidence["attributes seen with one value"].items()
    assert name == "n"
    assert "ValueError: n is 3" in why


def test_evidence_names_attributes(ge: Proof) -> None:
    [evidence] = [s.evidence for s in result(ge, "fine").stages if s.name == "ge"]
    assert "Fine: Fine(x=arg0_1:0, y=arg1_1:0, f=0.5, n=3) -> a, b" in evidence["graph"]
    assert "attributes seen with one value" not in evidence


def test_no_reason_names_opkit_itself(npugraph_ex: Proof, ge: Proof) -> None:
    for proof in (npugraph_ex, ge):
        assert not [m.reason for o in proof.operators for m in o.modes if "opkit/prove" in m.reason]


def test_evidence_of_a_ge_graph(ge: Proof) -> None:
    [evidence] = [s.evidence for s in result(ge, "fine_").stages if s.name == "ge"]
    assert evidence["graph"] == [
        "arg0_1: Data() -> y",
        "arg1_1: Data() -> y",
        "TensorMove: TensorMove(x=arg0_1:0) -> y",
        "InPlace: InPlace(x=TensorMove:0, y=arg1_1:0) -> x, z",
        "NetOutput: NetOutput(input0=InPlace:1, input1=InPlace:0) -> ",
    ]
    assert evidence["inputs"] == {"x": "x", "y": "y"}
    assert evidence["written back"] == {"NetOutput:1": "x"}
    assert evidence["runs"] == 2


@pytest.mark.npu
def test_strides_for_a_transposed_input_are_evidence_about_a_kernel_of_aten_operators(
    npugraph_ex: Proof,
) -> None:
    [mode] = [m for o in npugraph_ex.operators if o.name == "strides_of_input" for m in o.modes]
    [host] = [stage for stage in mode.stages if stage.name == "host"]
    assert mode.verdict == ENTERS, mode.reason
    assert "strides [1, 5], the Meta kernel says float16[5, 7]" in host.evidence["non-contiguous inputs"]
