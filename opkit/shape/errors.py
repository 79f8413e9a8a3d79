"""A rule that cannot be given a meaning."""

from __future__ import annotations

from collections.abc import Iterable

from opkit.model.diagnostic import Diagnostic, Mark, Severity

# Codes of this package; `opkit explain` knows their pages.
NO_RULE = "OPK201"
UNKNOWN_NAME = "OPK202"
UNKNOWN_HELPER = "OPK203"
WRONG_CALL = "OPK204"
WRONG_COUNT = "OPK205"
WRONG_KIND = "OPK206"
NEEDS_ENVIRONMENT = "OPK207"


class RuleError(Exception):
    """Raised while a rule is resolved or printed; carries the diagnostic a user sees."""

    def __init__(self, code: str, message: str, mark: Mark | None, help: str = "") -> None:
        super().__init__(message)
        self.diagnostic = Diagnostic(code, Severity.ERROR, message, mark, help)


def nearest(name: str, candidates: Iterable[str], cutoff: float = 0.6) -> str:
    """Make a help line that offers the closest known names."""
    import difflib

    close = difflib.get_close_matches(name, list(candidates), n=3, cutoff=cutoff)
    return f"did you mean {' or '.join(repr(c) for c in close)}?" if close else ""
