"""How stage host words what a call raised."""

from __future__ import annotations

from opkit.errors import OpkitError
from opkit.prove.stages.host import _raised


def test_a_kernel_and_a_reference() -> None:
    assert _raised(ValueError("not today")) == "the eager kernel raises: ValueError: not today"
    said = OpkitError("npu::f: the reference returned float32[4] as result 0", "mend it")
    assert _raised(said) == "npu::f: the reference returned float32[4] as result 0"
