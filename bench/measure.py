"""Timing two things in one run, so that a result means the same on a fast and on a slow machine."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Result:
    """What a benchmark found: our time over the baseline's, and the ratio that was promised."""

    # Seconds.
    ours: float
    baseline: float
    # The promise holds while ours / baseline is at most this.
    limit: float

    @property
    def ratio(self) -> float:
        return self.ours / self.baseline


def compare(
    ours: Callable[[], object], baseline: Callable[[], object], limit: float, repeat: int = 7
) -> Result:
    """Time both in turn, `repeat` times each, so that a busy moment hits both; medians are compared."""
    times: tuple[list[float], list[float]] = ([], [])
    ours()
    baseline()
    for _ in range(repeat):
        for function, kept in zip((ours, baseline), times):
            start = time.perf_counter()
            function()
            kept.append(time.perf_counter() - start)
    return Result(statistics.median(times[0]), statistics.median(times[1]), limit)


def process(arguments: Sequence[str]) -> Callable[[], object]:
    """Make a function that runs Python with these arguments and fails if it fails."""

    def run() -> object:
        return subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)

    return run
