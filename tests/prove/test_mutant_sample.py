"""Which mutants are judged where not all of them are."""

from __future__ import annotations

from typing import Any, cast

import pytest
from click.testing import CliRunner

from opkit.cli.prove import command
from opkit.prove.mutants.catalogue import KINDS
from opkit.prove.mutants.sample import Sample, chosen

FOUND = [(kind, f"place {i}", cast(Any, None)) for kind in list(KINDS.values())[:9] for i in range(4)]


def test_no_sample_is_all() -> None:
    assert chosen(FOUND, None, "npu::f") == FOUND
    assert chosen(FOUND, Sample(len(FOUND)), "npu::f") == FOUND


@pytest.mark.parametrize("count", [1, 5, 9, 12])
def test_a_sample_has_as_many_kinds_as_it_can(count: int) -> None:
    found = chosen(FOUND, Sample(count), "npu::f")
    assert len(found) == count
    assert len({kind.name for kind, _, _ in found}) == min(count, 9)
    assert found == [mutant for mutant in FOUND if mutant in found]


def test_seed_and_operator_decide_and_nothing_else() -> None:
    picks = [chosen(FOUND, Sample(4, seed), name) for seed, name in ((0, "f"), (0, "f"), (1, "f"), (0, "g"))]
    assert picks[0] == picks[1]
    assert picks[0] != picks[2]
    assert picks[0] != picks[3]


def test_many_operators_show_all_kinds() -> None:
    kinds = {kind.name for i in range(20) for kind, _, _ in chosen(FOUND, Sample(2), f"npu::op{i}")}
    assert len(kinds) == 9


@pytest.mark.parametrize("value", ["0", "-1", "x", "3:y", ":3"])
def test_what_is_no_number_is_refused(value: str) -> None:
    result = CliRunner().invoke(command, ["ops.yaml", "--self-test", "--mutants", value])
    assert result.exit_code == 2
    assert "NUMBER:SEED" in result.output
