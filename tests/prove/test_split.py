"""Work is split evenly, the same way everywhere, and none of it is lost."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opkit.prove.plan import Plan, work
from opkit.prove.protocol import Request
from opkit.prove.split import Shard, Subject, of_shard, over_workers, parts

OPS = """\
custom:
  - func: a(Tensor x) -> Tensor
    meta: {out: {size: x, dtype: x}}
  - func: b(Tensor x) -> Tensor
    meta: {out: {size: x, dtype: x}}
"""


def subjects(*counts: int) -> tuple[Subject, ...]:
    return tuple(("ops.yaml", f"f{i}", f"c{c}") for i, count in enumerate(counts) for c in range(count))


@given(st.lists(st.integers(1, 9), max_size=30), st.integers(1, 8))
def test_parts_are_disjoint_complete_and_balanced(counts: list[int], count: int) -> None:
    all_ = subjects(*counts)
    made = parts(all_, count)
    assert len(made) == count
    assert sorted(itertools.chain(*made)) == sorted(all_)
    # In order, and never two parts of one operator.
    assert all(list(part) == sorted(part, key=all_.index) for part in made)
    homes = [{name for _, name, _ in part} for part in made]
    assert all(not one & two for one, two in itertools.combinations(homes, 2))
    assert max(map(len, made)) - min(map(len, made)) <= max(counts, default=0)
    assert made == parts(all_, count)


def test_shards_are_parts() -> None:
    all_ = subjects(3, 1, 1, 1)
    assert of_shard(all_, None) == all_
    assert [of_shard(all_, Shard(i, 2)) for i in (1, 2)] == parts(all_, 2)
    assert str(Shard(1, 2)) == "1/2"


@pytest.mark.parametrize(
    ("counts", "workers", "made"),
    [
        ((20,), 4, [20]),  # One operator stays in one process.
        ((1,) * 40, 4, [10, 10, 10, 10]),
        ((1,) * 40, 1, [40]),
        ((1,) * 13, 4, [7, 6]),  # Three would have too little to do each.
        ((1,) * 3, 4, [3]),
    ],
)
def test_one_request_over_workers(counts: tuple[int, ...], workers: int, made: list[int]) -> None:
    request = Request("ge", "library", "npu", (), subjects(*counts))
    assert [len(r.subjects) for r in over_workers([request], workers)] == made


def test_never_more_processes_than_asked_for_but_one_for_each_request() -> None:
    requests = [Request(mode, "library", "npu", (), subjects(*[1] * 40)) for mode in ("npugraph_ex", "ge")]
    for workers in range(1, 9):
        made = over_workers(requests, workers)
        assert len(made) == max(2, workers)
        for mode in ("npugraph_ex", "ge"):
            mine = [s for r in made if r.mode == mode for s in r.subjects]
            assert sorted(mine) == sorted(requests[0].subjects)


def test_large_requests_are_split_so_that_nobody_waits() -> None:
    large = [Request(mode, "library", "npu", (), subjects(*[2] * 400)) for mode in ("npugraph_ex", "ge")]
    assert [len(r.subjects) for r in over_workers(large, 2)] == [400, 400, 400, 400]
    assert [len(r.subjects) for r in over_workers(large, 1)] == [800, 800]


def test_a_plan_of_one_shard(tmp_path: Path) -> None:
    (tmp_path / "ops.yaml").write_text(OPS)
    plans = [Plan(files=(str(tmp_path / "ops.yaml"),), shard=Shard(i, 3)) for i in (1, 2, 3)]
    found = [work(plan) for plan in plans]
    assert [[name for _, name, _ in w.requests[0].subjects] if w.requests else [] for w in found] == [
        ["a"],
        ["b"],
        [],
    ]
    assert {len(w.subjects) for w in found} == {2}
    assert [w.nothing for w in found] == ["", "", "shard 3/3 holds none of the operators"]
