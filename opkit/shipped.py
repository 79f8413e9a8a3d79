"""Finds the rule files that ship with opkit: `yaml_schemas/<package>/*.yaml`.

`exceptions.yaml` in the same directory is no rule file: it says which operators have no rule, and why.
Neither is `cases_*.yaml`: those have the calls with which operators are proved that need no rule, and
`not_proved.yaml` says for which there is none.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import yaml

from opkit.errors import OpkitError
from opkit.files import data_directory
from opkit.model.operator import OpSpec

_EXCEPTIONS = "exceptions.yaml"
_CASES = "cases_"
_NOT_PROVED = "not_proved.yaml"


def shipped_packages() -> tuple[str, ...]:
    """Name the packages for whose operators opkit has rules."""
    return tuple(sorted(path.name for path in data_directory("yaml_schemas").iterdir() if path.is_dir()))


def case_files(package: str) -> tuple[Path, ...]:
    """List the files with nothing but calls of operators whose Meta kernel is the package's own."""
    return tuple(sorted((data_directory("yaml_schemas") / package).glob(f"{_CASES}*.yaml")))


def rule_files(package: str) -> tuple[Path, ...]:
    """List the rule files of a package such as "torch_npu".

    Raises OpkitError when opkit ships none for it.
    """
    found = sorted((data_directory("yaml_schemas") / package).glob("*.yaml"))
    others = (_EXCEPTIONS, _NOT_PROVED)
    files = tuple(p for p in found if p.name not in others and not p.name.startswith(_CASES))
    if not files:
        raise OpkitError(
            f"opkit ships no rules for {package!r}", f"it has rules for {', '.join(shipped_packages())}"
        )
    return files


def shipped_rules() -> dict[str, OpSpec]:
    """Read every shipped rule; by the dispatcher's name. Raises InvalidDeclaration for mistakes in a file."""
    from opkit.prove.plan import read

    specs = (spec for package in shipped_packages() for path in rule_files(package)
             for spec in read(str(path)).operators)  # fmt: skip
    return {f"{spec.schema.name.namespace or 'npu'}::{spec.name}": spec for spec in specs}


def shipped_exceptions(package: str) -> Mapping[str, str]:
    """Read why operators of a package have no rule, by operator name; empty where it lists none.

    Raises OpkitError for a file of another form, and for an operator that is listed twice.
    """
    return read_exceptions(data_directory("yaml_schemas") / package / _EXCEPTIONS)


def not_proved(package: str) -> Mapping[str, str]:
    """Read why `opkit prove PACKAGE` has no call of an operator, by operator name: no rule, or no case.

    Raises OpkitError as `shipped_exceptions` does.
    """
    without_case = read_exceptions(data_directory("yaml_schemas") / package / _NOT_PROVED)
    return {**without_case, **shipped_exceptions(package)}


def read_exceptions(path: Path) -> Mapping[str, str]:
    """Read a file of `exceptions: [{operator: name, reason: text}, ...]`; empty where there is none.

    Raises OpkitError as `shipped_exceptions` does.
    """
    if not path.exists():
        return {}
    help = "write exceptions: with a list of {operator: name, reason: text}"
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise OpkitError(f"{path} is not valid YAML: {error}", help) from None
    entries = content.get("exceptions") if isinstance(content, dict) else None
    if not isinstance(entries, list):
        raise OpkitError(f"{path} has no list of exceptions", help)
    reasons: dict[str, str] = {}
    for entry in entries:
        fields = entry if isinstance(entry, dict) else {}
        name, reason = (str(fields.get(key) or "").strip() for key in ("operator", "reason"))
        if not name or not reason:
            raise OpkitError(f"{path}: {entry!r} is no exception", help)
        if name in reasons:
            raise OpkitError(f"{path} lists {name} twice", "keep one entry")
        reasons[name] = reason
    return reasons
