from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from bench.measure import Result

PROMISE = "under FakeTensorMode a generated Meta kernel is as fast as torch_npu's own, over 30 operators"
OPERATORS = 30
CALLS = 60
ROUNDS = 9


def measure() -> Result:
    """Call each operator with both kernels in turn, in one process; medians over operators are compared."""
    environment = {
        **os.environ,
        "OPKIT_SOC": "910B",
        "OPKIT_CANN": "9.0.0",
        "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
    }
    command = [sys.executable, "-m", "bench.bench_meta_call"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    pairs: list[tuple[float, float]] = json.loads(done.stdout.splitlines()[-1])
    assert len(pairs) == OPERATORS, f"{len(pairs)} operators take the calls of both"
    baseline = statistics.median(theirs for _, theirs in pairs)
    # The ratio of each operator counts the same, however long a call of it takes.
    return Result(baseline * statistics.median(ours / theirs for ours, theirs in pairs), baseline, limit=1.05)


Kernel = Callable[..., Any]


def _main() -> None:
    from opkit.cann.load import ensure_runtime

    ensure_runtime(True)
    from opkit.prove.watch import Watch

    watch = Watch()
    watch.install(set())
    import torch_npu  # noqa: F401 - registers what is compared

    found = []
    for name, ours, call in _candidates():
        theirs = watch.meta_function(name)
        if theirs is not None and (times := _times(name, ours, theirs, call)):
            found.append(times)
        if len(found) == OPERATORS:
            break
    print(json.dumps(found))


def _candidates() -> Iterator[tuple[str, Kernel, tuple[Any, Any]]]:
    """List corrected operators: the generated kernel, and the arguments of their first case."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    from opkit.audit.rule import rule_function
    from opkit.prove.plan import read
    from opkit.prove.values import inputs
    from opkit.registration.machine import machine_environment
    from opkit.shipped import rule_files

    mode = FakeTensorMode()
    for path in rule_files("torch_npu"):
        op_file = read(str(path))
        for spec in op_file.operators:
            if spec.corrects and spec.meta is not None and spec.meta.python is None:
                name = f"{spec.schema.name.namespace or 'npu'}::{spec.name}"
                kernel = rule_function(spec, op_file, "npu", machine_environment())
                given = inputs(spec.schema, spec.cases[0])
                with mode:
                    placed = given.map(lambda tensor: mode.from_tensor(tensor).to("npu")).call()
                yield name, kernel, placed


def _times(name: str, ours: Kernel, theirs: Kernel, call: tuple[Any, Any]) -> tuple[float, float] | None:
    """Time calls with each kernel in turn; None where one of them refuses."""
    import torch

    from opkit.cann.operators import find_operator

    operator, (args, kwargs) = find_operator(name), call
    mode = next(a.fake_mode for a in (*args, *kwargs.values()) if hasattr(a, "fake_mode"))
    namespace, _, base = name.partition("::")
    library = torch.library.Library(namespace, "FRAGMENT")
    times: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(ROUNDS):
        for mine in (True, False):
            library.m.impl(base, "Meta", ours if mine else theirs)
            with mode:
                try:
                    operator(*args, **kwargs)
                except Exception:
                    return None
                start = time.perf_counter()
                for _ in range(CALLS):
                    operator(*args, **kwargs)
                times[mine].append((time.perf_counter() - start) / CALLS)
    return min(times[True]), min(times[False])


if __name__ == "__main__":
    _main()
