"""Run every benchmark and print a table; exit with 1 if a promise is broken."""

from __future__ import annotations

import importlib
import pkgutil
import sys

import bench


def main() -> int:
    """Run the modules named bench_*.py, each with a `PROMISE` and a `measure()`."""
    broken = 0
    for module in sorted(m.name for m in pkgutil.iter_modules(bench.__path__) if m.name.startswith("bench_")):
        benchmark = importlib.import_module(f"bench.{module}")
        result = benchmark.measure()
        kept = result.ratio <= result.limit
        broken += not kept
        print(
            f"{'kept  ' if kept else 'BROKEN'} {module[6:]:<12} {result.ratio:6.2f}x "
            f"(promised {result.limit:g}x)  {result.ours * 1e3:9.3f} ms vs {result.baseline * 1e3:9.3f} ms  "
            f"{benchmark.PROMISE}"
        )
    return 1 if broken else 0


sys.exit(main())
