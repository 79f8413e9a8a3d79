"""Splits the work of a proof: over machines (shards), and over the worker processes of one. No torch.

All cases of an operator stay together, so that what a worker says of an operator does not depend on where
the others are. Equal input gives equal parts, on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from opkit.prove.protocol import Request

Subject = tuple[str, str, str]

# Fewer cases are not worth another process, which takes seconds to import torch and torch_npu.
_WORTH_A_PROCESS = 6
_LARGE = 300


@dataclass(frozen=True)
class Shard:
    """One of `count` parts of the operators; `index` counts from 1."""

    index: int
    count: int

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"


def parts(subjects: Sequence[Subject], count: int) -> list[tuple[Subject, ...]]:
    """Split into parts of as equal a number of cases as whole operators allow; the order stays in each."""
    groups: dict[tuple[str, str], list[Subject]] = {}
    for subject in subjects:
        groups.setdefault(subject[:2], []).append(subject)
    sizes, home = [0] * count, {}
    for operator in sorted(groups, key=lambda name: -len(groups[name])):
        lightest = sizes.index(min(sizes))
        home[operator] = lightest
        sizes[lightest] += len(groups[operator])
    return [tuple(s for s in subjects if home[s[:2]] == part) for part in range(count)]


def of_shard(subjects: Sequence[Subject], shard: Shard | None) -> tuple[Subject, ...]:
    """Give the subjects of a shard; all of them without one."""
    return tuple(subjects) if shard is None else parts(subjects, shard.count)[shard.index - 1]


def over_workers(requests: Sequence[Request], workers: int) -> list[Request]:
    """Split requests so that every worker has something to do, the largest ones first.

    There may be more requests than workers: each mode and style needs a process of its own. Large ones are
    split in any case: a graph takes longer than the other one, and the worker of that has nothing left to do.
    """
    shares = [2 if workers > 1 and len(request.subjects) > _LARGE else 1 for request in requests]
    while requests and sum(shares) < workers:
        loads = [len(r.subjects) / share for r, share in zip(requests, shares)]
        largest = loads.index(max(loads))
        after = len(requests[largest].subjects) / (shares[largest] + 1)
        operators = len({subject[:2] for subject in requests[largest].subjects})
        if after < _WORTH_A_PROCESS or shares[largest] >= operators:
            break
        shares[largest] += 1
    return [
        replace(request, subjects=subjects)
        for request, share in zip(requests, shares)
        for subjects in parts(request.subjects, share)
    ]
