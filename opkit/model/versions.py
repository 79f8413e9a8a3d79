"""torch versions as operator YAML writes them: v2.1, v2.13."""

from __future__ import annotations


def version_key(version: str) -> tuple[int, ...]:
    """Order versions as numbers: v2.10 is after v2.9. A text that is no version sorts first."""
    try:
        return tuple(int(part) for part in version.lstrip("v").partition("+")[0].split("."))
    except ValueError:
        return (-1,)
