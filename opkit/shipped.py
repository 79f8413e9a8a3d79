"""Finds the rule files that ship with opkit: `yaml_schemas/<package>/*.yaml`."""

from __future__ import annotations

from pathlib import Path

from opkit.errors import OpkitError
from opkit.files import data_directory


def shipped_packages() -> tuple[str, ...]:
    """Name the packages for whose operators opkit has rules."""
    return tuple(sorted(path.name for path in data_directory("yaml_schemas").iterdir() if path.is_dir()))


def rule_files(package: str) -> tuple[Path, ...]:
    """List the rule files of a package such as "torch_npu".

    Raises OpkitError when opkit ships none for it.
    """
    files = tuple(sorted((data_directory("yaml_schemas") / package).glob("*.yaml")))
    if not files:
        raise OpkitError(
            f"opkit ships no rules for {package!r}", f"it has rules for {', '.join(shipped_packages())}"
        )
    return files
