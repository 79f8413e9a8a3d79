"""Stage host, asked for by name: the Meta kernel is compared in every variation of a case."""

from __future__ import annotations

from pathlib import Path

import pytest

from opkit.testing import prove

pytestmark = pytest.mark.npu

OPS = Path(__file__).parent / "judged" / "ops.yaml"


def test_the_meta_kernel_is_compared_in_every_variation() -> None:
    proof = prove(OPS, stages=["host"], styles=["library"])
    found = {
        operator.name: next(stage for stage in operator.modes[0].stages if stage.name == "host")
        for operator in proof.operators
    }
    assert {name: stage.verdict for name, stage in found.items()} == {
        "right": "proved",
        "flag": "failed",
        "strict": "failed",
    }
    # As written, another size, not contiguous, mode=b, keep=False, y=None.
    assert found["right"].evidence["variations"] == {"agrees": 6}
    assert "keep=False: differs" in found["flag"].reason
    assert "y=None: Meta kernel raises" in found["strict"].reason
