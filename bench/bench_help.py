from __future__ import annotations

from bench.measure import Result, compare, process

PROMISE = "`opkit --help` costs about as much as importing click"


def measure() -> Result:
    return compare(process(["-m", "opkit", "--help"]), process(["-c", "import click"]), limit=1.6)
