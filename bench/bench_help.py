from __future__ import annotations

from bench.measure import Result, compare, process

PROMISE = "`opkit --help` costs at most 4 times what starting Python costs, besides importing click"


def measure() -> Result:
    start = process(["-c", "pass"])
    ours = compare(process(["-m", "opkit", "--help"]), start, limit=1.0)
    click = compare(process(["-c", "import click"]), start, limit=1.0)
    return Result(ours.ours, 4 * ours.baseline + (click.ours - click.baseline), limit=1.0)
