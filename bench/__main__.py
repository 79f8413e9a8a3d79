"""Run every benchmark, or those named, and print a table; exit with 1 if a promise is broken."""

from __future__ import annotations

import importlib
import pkgutil
import sys

import bench


def main(asked: list[str]) -> int:
    """Run the modules named bench_*.py, each with a `PROMISE` and a `measure()`."""
    found = sorted(m.name[6:] for m in pkgutil.iter_modules(bench.__path__) if m.name.startswith("bench_"))
    if unknown := set(asked).difference(found):
        print(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(found)}", file=sys.stderr)
        return 2
    broken = 0
    for name in asked or found:
        benchmark = importlib.import_module(f"bench.bench_{name}")
        result = benchmark.measure()
        kept = result.ratio <= result.limit
        broken += not kept
        print(
            f"{'kept  ' if kept else 'BROKEN'} {name:<12} {result.ratio:6.2f}x "
            f"(promised {result.limit:g}x)  {result.ours * 1e3:9.3f} ms vs {result.baseline * 1e3:9.3f} ms  "
            f"{benchmark.PROMISE}"
        )
    return 1 if broken else 0


sys.exit(main(sys.argv[1:]))
