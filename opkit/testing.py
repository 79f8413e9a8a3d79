"""The prover for tests: `prove("ops.yaml").enters`. It starts processes of its own."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from opkit.prove.protocol import MODES, Proof

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["Proof", "prove"]


def prove(
    path: str | PathLike[str] | Sequence[str | PathLike[str]],
    *,
    package: str | PathLike[str] | None = None,
    operators: Sequence[str] | None = None,
    modes: Sequence[str] = MODES,
    styles: Sequence[str] | None = None,
    imports: Sequence[str | PathLike[str]] = (),
    namespace: str = "npu",
    timeout: float = 120.0,
) -> Proof:
    """Prove the operators of one YAML file or several, as `opkit prove` does.

    `package`, `operators`, `modes`, `styles`, `imports` and `namespace` are the command's options. The result
    tells `enters`, `explain()` and `to_json()`:

        proof = prove("ops.yaml", operators=["my_op"])
        assert proof.enters, proof.explain()

    Raises opkit.errors.OpkitError when nothing can be judged: mistakes in the YAML, an unknown operator, no
    torch_npu. An operator that breaks raises nothing.
    """
    from opkit.prove.plan import Plan
    from opkit.prove.runner import prove as run

    paths = [path] if isinstance(path, (str, os.PathLike)) else list(path)
    return run(
        Plan(
            files=tuple(os.fspath(p) for p in paths),
            operators=tuple(operators or ()),
            modes=tuple(modes),
            styles=None if styles is None else tuple(styles),
            namespace=namespace,
            package=None if package is None else os.fspath(package),
            imports=tuple(os.fspath(p) for p in imports),
            timeout=timeout,
        )
    )
