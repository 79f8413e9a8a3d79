"""Checking one file: reading it, running the rules, leaving out what its owner has silenced."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Callable

from opkit.errors import OpkitError
from opkit.model.diagnostic import Diagnostic, Severity
from opkit.model.operator import OpFile
from opkit.read import read_file, read_text
from opkit.rules import check
from opkit.rules.pages import PAGES

UNREADABLE = "OPK001"
# Codes of what keeps an operator out of GE.
GE = "OPK30"
# Codes of rules and cases, where one wrong name may be used many times.
_ONCE = frozenset(["OPK041", "OPK043", "OPK202", "OPK203", "OPK206"])


def check_path(path: str | Path, torch_version: str | None = None) -> list[Diagnostic]:
    """Give all findings about a YAML file in the order of the text.

    Raises OpkitError if the pyproject.toml that applies to it has a `[tool.opkit]` table that cannot be used.
    """
    op_file, found = read_file(path, torch_version)
    if op_file is not None:
        broken = frozenset(d.operator for d in found if d.severity is Severity.ERROR)
        found = (*found, *check(op_file, torch_version, broken))
    # What is wrong with an argument or a result need not be said once more about GE.
    known = {d.mark for d in found if not d.code.startswith(GE) and d.severity is not Severity.NOTE}
    found = tuple(d for d in found if not (d.code.startswith(GE) and d.mark in known))
    ignored = ignored_codes(Path(path))
    # Two parts of opkit may find the same; one of them is enough.
    unique = {(d.code, d.mark, d.operator): d for d in reversed(found)}
    kept = [d for d in _merged(unique.values()) if d.code not in ignored and not _is_silenced(d, op_file)]
    return sorted(kept, key=lambda d: (d.mark.line, d.mark.column, d.code) if d.mark else (0, 0, d.code))


def _merged(found: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Say once what an operator's rules or cases have wrong in several places."""
    kept: dict[object, Diagnostic] = {}
    for d in sorted(found, key=lambda d: (d.mark.line, d.mark.column) if d.mark else (0, 0)):
        key = (d.code, d.operator, d.message) if d.code in _ONCE and d.operator else d.mark, d.code, d.message
        first = kept.setdefault(key, d)
        if first is not d and d.mark is not None:
            kept[key] = replace(first, related=(*first.related, ("the same here", d.mark)))
    return list(kept.values())


def is_shown(path: Path, text: str) -> Callable[[str, int], bool]:
    """Give the question whether findings of a code on a line are wanted, for a file with this text.

    Raises OpkitError like `check_path`.
    """
    ignored = ignored_codes(path)
    op_file = read_text(text, path)[0] if "opkit:" in text else None
    suppressions = op_file.suppressions if op_file else ()

    def shown(code: str, line: int) -> bool:
        silenced = any(code in s.codes and s.first_line <= line <= s.last_line for s in suppressions)
        return code not in ignored and not silenced

    return shown


def _is_silenced(diagnostic: Diagnostic, op_file: OpFile | None) -> bool:
    mark = diagnostic.mark
    if op_file is None or mark is None:
        return False
    return any(
        diagnostic.code in s.codes and s.first_line <= mark.line <= s.last_line for s in op_file.suppressions
    )


def ignored_codes(path: Path) -> frozenset[str]:
    """Read `ignore` of `[tool.opkit]` in the nearest pyproject.toml above the file.

    Raises OpkitError if the table cannot be used.
    """
    for directory in path.absolute().parents:
        config = directory / "pyproject.toml"
        if config.is_file():
            return _read_ignore(config)
    return frozenset()


def _read_ignore(config: Path) -> frozenset[str]:
    text = config.read_text(encoding="utf-8", errors="replace")
    if "[tool.opkit" not in text:
        return frozenset()
    loads, error_type = _toml()
    try:
        ignore = loads(text).get("tool", {}).get("opkit", {}).get("ignore", [])
    except error_type as error:
        raise OpkitError(f"{config}: not valid TOML: {error}") from None
    if not isinstance(ignore, list) or not all(isinstance(code, str) for code in ignore):
        raise OpkitError(f"{config}: tool.opkit.ignore is a list of codes", 'write ignore = ["OPK113"]')
    unknown = [code for code in ignore if code not in PAGES]
    if unknown:
        raise OpkitError(
            f"{config}: tool.opkit.ignore names {unknown[0]}, which is no code",
            "`opkit rules` lists all codes",
        )
    return frozenset(ignore)


def _toml() -> tuple[Any, type[Exception]]:
    """The TOML parser: in the standard library from Python 3.11 on."""
    try:
        import tomllib

        return tomllib.loads, tomllib.TOMLDecodeError
    except ModuleNotFoundError:
        try:
            import tomli  # type: ignore[import-not-found, unused-ignore]

            return tomli.loads, tomli.TOMLDecodeError
        except ModuleNotFoundError:
            raise OpkitError(
                "reading [tool.opkit] of pyproject.toml needs tomli on this Python", "pip install tomli"
            ) from None
