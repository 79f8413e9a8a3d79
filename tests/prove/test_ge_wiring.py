"""Converters that build the right kind of node and feed, order or write it wrongly; each one breaks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from opkit.prove.protocol import BREAKS, ENTERS, ModeResult, Proof

WIRED = Path(__file__).parent / "wired"
pytestmark = pytest.mark.npu

WRONG = {
    "rounded_input": "input `x` of RoundedInput passes through a cast from float32 to float16 and back",
    "rounded_output": "result 0 passes through a cast from float32 to int32 and back",
    "narrowed": "input `x` of Narrowed passes through a cast from int64 to int32, which may change it; "
    "name a `reference:`",
    "more_outputs": "MoreOutputs has an output `z` that the prototype does not have",
    "outputs_reversed": "the outputs of OutputsReversed are in the order y1, y0, the prototype says y0, y1",
    "inputs_reversed": "the inputs of InputsReversed are in the order y, x, the prototype says x, y",
    "writes_reversed": "the outputs of WritesReversed are in the order y, x, the prototype says x, y",
    "bool_as_int": "attribute `n` is VT_INT, the prototype says VT_BOOL",
    "int_as_float": "attribute `n` is VT_FLOAT, the prototype says VT_INT",
    "more_attributes": "MoreAttributes has an attribute `k` that the prototype does not have",
    "swapped_numbers": "converted again with a=4, b=5: attribute `a` is 5, the case gives 4",
    "swapped_flags": "converted again with f=False, g=True: attribute `f` is True, the case gives False",
    "reversed_list": "converted again with a=[3, 4]: attribute `a` is [4, 3], the case gives [3, 4]",
    "called": "the operator by itself, with the inputs of the case: input `x` of Called is fed by z instead",
    "drops_optional": "with y given, as in no case: input `y` of DropsOptional is fed by nothing",
    "given_only": "with y None, as in no case: input `y` of GivenOnly is fed by x instead of nothing",
    "no_rows_and_swapped": "the results have no elements: torchair puts a constant in the operator's place; "
    "with 3 for every size of 0: input `x` of NoRowsAndSwapped is fed by y instead of x",
}
RIGHT = [
    "narrowed_and_compared",
    "widened",
    "flags",
    "called_and_right",
    "optional_and_right",
    "optional_refused",
    "no_rows",
]


@pytest.fixture(scope="module")
def proof(proof_of: Callable[..., Proof]) -> Proof:
    return proof_of(WIRED / "ops.yaml", imports=[WIRED / "operators.py"], modes=["ge"])


def mode_of(proof: Proof, name: str) -> ModeResult:
    [mode] = [mode for operator in proof.operators if operator.name == name for mode in operator.modes]
    return mode


@pytest.mark.parametrize("name", WRONG)
def test_wrong(proof: Proof, name: str) -> None:
    mode = mode_of(proof, name)
    assert mode.verdict == BREAKS
    assert mode.reason.startswith("ge: ")
    assert WRONG[name] in mode.reason


@pytest.mark.parametrize("name", RIGHT)
def test_right(proof: Proof, name: str) -> None:
    mode = mode_of(proof, name)
    assert mode.verdict == ENTERS, mode.reason


def test_all_are_listed(proof: Proof) -> None:
    assert {operator.name for operator in proof.operators} == {*WRONG, *RIGHT}


def test_an_optional_that_cannot_be_given_is_named(proof: Proof) -> None:
    for name, expected in (("optional_refused", "y is for later"), ("optional_and_right", None)):
        [ge] = [stage for stage in mode_of(proof, name).stages if stage.name == "ge"]
        refused = ge.evidence.get("optionals never given")
        assert refused is None if expected is None else expected in refused["y"]
