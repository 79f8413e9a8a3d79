"""Chooses some of an operator's mutants, where all of them would take too long."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from opkit.prove.mutants.kind import Kind, Product


@dataclass(frozen=True)
class Sample:
    """How many mutants of each operator and mode are judged; another seed chooses others."""

    count: int
    seed: int = 0


def chosen(
    found: Sequence[tuple[Kind, str, Product]], sample: Sample | None, identity: str
) -> list[tuple[Kind, str, Product]]:
    """Choose mutants of as many kinds as the sample allows, in the order they were found in.

    The choice depends on the seed and the operator alone, so that several operators together show most kinds
    and a worker that takes over goes on with the same.
    """
    if sample is None or len(found) <= sample.count:
        return list(found)
    generator = random.Random(f"{sample.seed} {identity}")
    order = generator.sample(range(len(found)), len(found))
    turns: dict[str, int] = {}
    ranked: list[tuple[int, int, int]] = []
    for index in order:
        kind = found[index][0].name
        turns[kind] = turns.get(kind, 0) + 1
        ranked.append((turns[kind], len(ranked), index))
    return [found[index] for index in sorted(index for _, _, index in sorted(ranked)[: sample.count])]
