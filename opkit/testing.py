"""For tests: `prove("ops.yaml").enters`, `judge("rules.yaml").agrees`. They start processes of their own."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from opkit.audit.protocol import HostReport
from opkit.prove.protocol import MODES, Proof

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["HostReport", "Proof", "judge", "prove"]


def prove(
    path: str | PathLike[str] | Sequence[str | PathLike[str]],
    *,
    package: str | PathLike[str] | None = None,
    operators: Sequence[str] | None = None,
    modes: Sequence[str] = MODES,
    stages: Sequence[str] = (),
    also: Sequence[str] = (),
    gate: bool = False,
    styles: Sequence[str] | None = None,
    imports: Sequence[str | PathLike[str]] = (),
    namespace: str = "npu",
    timeout: float = 120.0,
    jobs: int | None = None,
) -> Proof:
    """Prove the operators of one YAML file or several, as `opkit prove` does.

    `package`, `operators`, `modes`, `stages`, `also`, `gate`, `styles`, `imports`, `namespace`, `timeout`
    (seconds for one stage) and `jobs` (None: one worker process per core) are the command's options; with
    `gate`, `holds` tells whether promise and evidence are the same.
    The result tells `enters`, `explain()` and `to_json()`, and `holds` where only some stages were asked for:

        proof = prove("ops.yaml", operators=["my_op"])
        assert proof.enters, proof.explain()

    Raises opkit.errors.OpkitError when nothing can be judged: mistakes in the YAML, an unknown operator, no
    torch_npu. An operator that breaks raises nothing.
    """
    from opkit.prove.plan import Plan
    from opkit.prove.runner import prove as run

    paths = [path] if isinstance(path, (str, os.PathLike)) else list(path)
    proof = run(
        Plan(
            files=tuple(os.fspath(p) for p in paths),
            operators=tuple(operators or ()),
            modes=tuple(modes),
            stages=tuple(stages),
            also=tuple(dict.fromkeys((*also, "cache") if gate else also)),
            styles=None if styles is None else tuple(styles),
            namespace=namespace,
            package=None if package is None else os.fspath(package),
            imports=tuple(os.fspath(p) for p in imports),
            timeout=timeout,
            jobs=jobs,
        )
    )
    if not gate:
        return proof
    from opkit.prove.gate import gated

    return gated(proof)


def judge(
    path: str | PathLike[str] | Sequence[str | PathLike[str]],
    *,
    operators: Sequence[str] = (),
    socs: Sequence[str] = ("910B",),
    cann: str | None = None,
    namespace: str = "npu",
    timeout: float = 120.0,
) -> HostReport:
    """Judge the rules of files, or of a package such as "torch_npu", as `opkit audit --host` does.

    The result tells `agrees`, `explain()` and `to_json()`:

        report = judge("rules.yaml", socs=["910B", "950"])
        assert report.agrees, report.explain()

    Raises opkit.errors.OpkitError when nothing can be judged.
    """
    from opkit.audit.run import CANN, judge_host
    from opkit.prove.plan import read
    from opkit.shipped import rule_files, shipped_packages

    files: list[str] = []
    for item in [path] if isinstance(path, (str, os.PathLike)) else path:
        text = os.fspath(item)
        files += map(str, rule_files(text)) if text in shipped_packages() else [text]
    read_files = [read(os.path.abspath(file)) for file in files]
    return judge_host(read_files, operators, socs, cann or CANN, namespace, timeout=timeout)
