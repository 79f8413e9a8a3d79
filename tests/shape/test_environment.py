"""Rules that ask about the machine: decided when the kernel is made, never guessed."""

from __future__ import annotations

import pytest
from declarations import operator

from opkit.emit import emit_meta
from opkit.shape import Environment, resolve
from opkit.shape.environment import soc_family

MACHINE = Environment("2.13.0+cpu", "8.5.0", "Ascend910B2")


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("Ascend910B2", "910B"), ("Ascend910B", "910A"), ("Ascend910ProA", "910A"), ("Ascend310P3", "310P"),
        ("Ascend310B1", "310B"), ("Ascend910_9391", "910_93"), ("Ascend950DT_9581", "950"), ("910B", "910B"),
        ("950", "950"), ("H100", None),
    ],
)  # fmt: skip
def test_product_lines(name: str, family: str | None) -> None:
    assert soc_family(name) == family


@pytest.mark.parametrize(
    ("condition", "truth"),
    [
        ("soc == '910B'", True), ("soc < '910B'", False), ("soc >= '310P'", True), ("soc < '310B'", True),
        ("soc >= '910_93'", False), ("soc in ['910B', '910_93']", True), ("soc not in ['910B']", False),
        ("cann >= '8.5'", True), ("cann >= '8.5.0'", True), ("cann < '8.1.RC1'", False),
        ("cann >= '10.0'", False),
        ("torch_version >= '2.12'", True), ("torch_version < '2.6'", False),
        ("soc == '910B' and cann < '8.5'", False), ("not soc == '910B'", False),
    ],
)  # fmt: skip
def test_the_condition_is_decided(condition: str, truth: bool) -> None:
    _, file = operator(
        "f(Tensor x) -> Tensor", f'meta: {{out: {{size: x, dtype: "int8 if {condition} else int16"}}}}'
    )
    text = emit_meta(file, environment=MACHINE)
    assert ("dtype=torch.int8" in text, "dtype=torch.int16" in text) == (truth, not truth)


def test_a_requirement_that_always_holds_is_not_printed() -> None:
    _, file = operator(
        "f(Tensor x) -> Tensor", "meta: {require: [[soc < '950', no]], out: {size: x, dtype: x}}"
    )
    assert "_check" not in emit_meta(file, environment=MACHINE)
    assert "torch._check(False" in emit_meta(file, environment=Environment(soc_version="Ascend950DT_9581"))


def test_what_is_left_after_a_decision_stays() -> None:
    _, file = operator(
        "f(Tensor x) -> Tensor",
        "meta: {require: [[soc == '950' or x.dim() == 2, no]], out: {size: x, dtype: x}}",
    )
    assert "torch._check(x.dim() == 2" in emit_meta(file, environment=MACHINE)


@pytest.mark.parametrize(
    ("condition", "code", "words"),
    [
        ("soc >= 'H100'", "OPK206", "product line"),
        ("soc >= 910", "OPK206", "product line"),
        ("cann >= 8.5", "OPK206", "version in quotes"),
        ("cann >= 'new'", "OPK206", "version in quotes"),
        ("soc + 1 == 2", "OPK206", "cannot be used"),
    ],
)
def test_what_cannot_be_compared_is_refused(condition: str, code: str, words: str) -> None:
    spec, file = operator(
        "f(Tensor x) -> Tensor", f'meta: {{require: [["{condition}", no]], out: {{size: x, dtype: x}}}}'
    )
    found = resolve(spec, file, MACHINE).diagnostics
    assert [d.code for d in found] == [code]
    assert words in f"{found[0].message} {found[0].help}"


@pytest.mark.parametrize("condition", ["soc >= '950'", "cann >= '8.5'", "torch_version >= '2.12'"])
def test_without_a_machine_the_rule_says_what_it_needs(condition: str) -> None:
    spec, file = operator(
        "f(Tensor x) -> Tensor", f'meta: {{require: [["{condition}", no]], out: {{size: x, dtype: x}}}}'
    )
    assert [d.code for d in resolve(spec, file).diagnostics] == ["OPK207"]


def test_an_argument_of_that_name_is_the_argument() -> None:
    _, file = operator(
        "f(Tensor x, str soc) -> Tensor", "meta: {require: [[soc == 'a', no]], out: {size: x, dtype: x}}"
    )
    assert "soc == 'a'" in emit_meta(file).replace('"', "'")
