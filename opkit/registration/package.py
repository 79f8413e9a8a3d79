"""`opkit.register`: Meta kernels from opkit's shipped rules, a file, or what was read from one."""

from __future__ import annotations

import os
from dataclasses import dataclass
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
    # (name, what was wrong with it): they had one, and have opkit's in its place.
    corrected: tuple[tuple[str, str], ...] = ()


# Registrations live as long as their Library objects.
_KEPT: list[object] = []
# Operators whose Meta kernel is a correction already.
_CORRECTED: set[str] = set()


def register(
    what: str | PathLike[str] | OpFile,
    style: str = "library",
    namespace: str = "npu",
    environment: Environment | None = None,
    *,
    replace: bool = False,
) -> Registered:
    """Register Meta kernels in this process.

    `what` is "torch_npu" for opkit's own rules of its operators, a YAML file, or an OpFile. An operator that
    has a Meta kernel keeps it, unless its entry says with `corrects` what is wrong with it, or `replace` says
    that every rule takes its place. Of a package's operators those that cannot be registered are listed in
    `refused`; for files of your own they are an error. `environment` is this machine unless given.

    Raises OpkitError for mistakes in a file or a rule that is no use, and RuntimeError when an operator is
    registered already with another schema.
    """
    from opkit.shipped import rule_files, shipped_packages

    if isinstance(what, str) and what in shipped_packages():
        return _package([_read(path) for path in rule_files(what)], namespace, environment, replace)
    op_file = what if isinstance(what, OpFile) else _read(what)
    return _file(op_file, style, namespace, environment, replace)


def _file(
    op_file: OpFile, style: str, namespace: str, environment: Environment | None, replace: bool
) -> Registered:
    from opkit.prove.watch import has_meta, is_defined
    from opkit.registration import register as register_file

    specs = {_qualified(spec, namespace): spec for spec in op_file.operators}
    before = [name for name in specs if is_defined(name) and has_meta(name)]
    register_file(op_file, style, namespace, environment)
    corrected = tuple((name, specs[name].corrects) for name in before if _needs_correction(name, specs[name]))
    replaced = before if replace else [name for name, _ in corrected]
    for name in replaced:
        _replace(name, specs[name], op_file, namespace, environment or Environment())
    _CORRECTED.update(name for name, _ in corrected)
    return Registered(
        registered=tuple(n for n in specs if n not in before or (n in replaced and n not in dict(corrected))),
        kept=tuple(n for n in before if n not in replaced),
        refused=(),
        corrected=corrected,
    )


def _needs_correction(name: str, spec: OpSpec) -> bool:
    """Tell whether the Meta kernel that the operator has is one its entry calls wrong."""
    return bool(spec.corrects) and name not in _CORRECTED


def _replace(name: str, spec: OpSpec, op_file: OpFile, namespace: str, environment: Environment) -> None:
    """Put the rule in the place of the Meta kernel that an operator has.

    Raises OpkitError for a composite operator and one with a fake impl: torch asks these first.
    """
    import torch
    from torch._library.simple_registry import singleton

    from opkit.audit.rule import rule_function
    from opkit.prove.watch import has_kernel

    if singleton.find(name).fake_impl.kernel is not None or not has_kernel(name, "Meta"):
        raise OpkitError(
            f"{name} has a fake impl or is composite", "a Meta kernel cannot take the place of it"
        )
    library = torch.library.Library(name.split("::")[0], "FRAGMENT")
    # `Library.impl` refuses a second Python kernel; what it calls does not.
    library.m.impl(name.split("::")[1], "Meta", rule_function(spec, op_file, namespace, environment))
    _KEPT.append(library)


def _read(path: str | PathLike[str]) -> OpFile:
    from opkit.prove.plan import read

    return read(os.fspath(path))


def _qualified(spec: OpSpec, namespace: str) -> str:
    return f"{spec.schema.name.namespace or namespace}::{spec.name}"


def _package(
    files: list[OpFile], namespace: str, environment: Environment | None, replace: bool
) -> Registered:
    import torch_npu  # noqa: F401 - defines the operators

    from opkit.prove.watch import has_meta, is_defined
    from opkit.registration.machine import machine_environment

    environment = environment or machine_environment()
    registered, kept, refused, corrected = [], [], [], []
    for op_file in files:
        for spec in op_file.operators:
            name = _qualified(spec, namespace)
            if not is_defined(name):
                refused.append((name, "the installed torch_npu has no such operator"))
                continue
            correction = has_meta(name) and _needs_correction(name, spec)
            if has_meta(name) and not (replace or correction):
                kept.append(name)
            elif problem := _one(name, spec, op_file, namespace, environment):
                refused.append((name, problem))
            elif correction:
                corrected.append((name, spec.corrects))
                _CORRECTED.add(name)
            else:
                registered.append(name)
    return Registered(tuple(registered), tuple(kept), tuple(refused), tuple(corrected))


def _one(name: str, spec: OpSpec, op_file: OpFile, namespace: str, environment: Environment) -> str:
    """Register one operator, in the place of the Meta kernel it has; give the reason if it cannot be."""
    from opkit.audit.rule import is_refused, rule_function
    from opkit.prove.watch import has_meta

    if is_refused(spec, environment.soc_version):
        return "only an aclop kernel, which this SoC does not take"
    try:
        if has_meta(name):
            _replace(name, spec, op_file, namespace, environment)
        else:
            rule_function(spec, op_file, namespace, environment)
    except (OpkitError, RuntimeError) as error:
        return str(error)
    return ""
