"""`opkit.register`: Meta kernels from opkit's shipped rules, a file, or what was read from one."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from opkit.errors import OpkitError
from opkit.model.operator import OpFile, OpSpec
from opkit.shape.scope import Environment

if TYPE_CHECKING:
    from os import PathLike


@dataclass(frozen=True)
class Registered:
    """What became of each operator, by the dispatcher's name."""

    # These have a Meta kernel of opkit's now.
    registered: tuple[str, ...]
    # These had one, and keep it.
    kept: tuple[str, ...]
    # (name, why it has none).
    refused: tuple[tuple[str, str], ...]


def register(
    what: str | PathLike[str] | OpFile,
    style: str = "library",
    namespace: str = "npu",
    environment: Environment | None = None,
) -> Registered:
    """Register Meta kernels in this process.

    `what` is "torch_npu" for opkit's own rules of its operators, a YAML file, or an OpFile. An operator that
    has a Meta kernel keeps it. Of a package's operators those that cannot be registered are listed in
    `refused`; for files of your own they are an error. `environment` is this machine unless given.

    Raises OpkitError for mistakes in a file or a rule that is no use, and RuntimeError when an operator is
    registered already with another schema.
    """
    from opkit.registration import register as register_file
    from opkit.shipped import rule_files, shipped_packages

    if isinstance(what, str) and what in shipped_packages():
        return _package([_read(path) for path in rule_files(what)], namespace, environment)
    op_file = what if isinstance(what, OpFile) else _read(what)
    from opkit.prove.watch import has_meta, is_defined

    names = [_qualified(spec, namespace) for spec in op_file.operators]
    before = {name for name in names if is_defined(name) and has_meta(name)}
    register_file(op_file, style, namespace, environment)
    return Registered(tuple(n for n in names if n not in before), tuple(n for n in names if n in before), ())


def _read(path: str | PathLike[str]) -> OpFile:
    from opkit.prove.plan import read

    return read(os.fspath(path))


def _qualified(spec: OpSpec, namespace: str) -> str:
    return f"{spec.schema.name.namespace or namespace}::{spec.name}"


def _package(files: list[OpFile], namespace: str, environment: Environment | None) -> Registered:
    import torch_npu  # noqa: F401 - defines the operators

    from opkit.prove.watch import has_meta, is_defined
    from opkit.registration.machine import machine_environment

    environment = environment or machine_environment()
    registered, kept, refused = [], [], []
    for op_file in files:
        for spec in op_file.operators:
            name = _qualified(spec, namespace)
            if not is_defined(name):
                refused.append((name, "the installed torch_npu has no such operator"))
            elif has_meta(name):
                kept.append(name)
            elif problem := _one(spec, op_file, namespace, environment):
                refused.append((name, problem))
            else:
                registered.append(name)
    return Registered(tuple(registered), tuple(kept), tuple(refused))


def _one(spec: OpSpec, op_file: OpFile, namespace: str, environment: Environment) -> str:
    """Register one operator; give the reason if it cannot be."""
    from opkit.audit.rule import is_refused
    from opkit.registration import register as register_file

    if is_refused(spec, environment.soc_version):
        return "only an aclop kernel, which this SoC does not take"
    try:
        register_file(replace(op_file, operators=(spec,)), "library", namespace, environment)
    except (OpkitError, RuntimeError) as error:
        return str(error)
    return ""
