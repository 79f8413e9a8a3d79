"""The spacing of a schema. torch takes any; op-plugin's parser takes exactly one.

From `torchnpugen/model.py` of op-plugin: arguments are split at `", "`, and what it prints of a schema must
be the text it has read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from opkit.read.tokens import Token

CODE = "OPK018"

# What follows a type is a name, and stands apart from it.
_ENDS_A_TYPE = frozenset(["name", "]", "?", ")", "!"])


def loose_gaps(text: str, tokens: Iterable[Token]) -> Iterator[tuple[Token, Token, str]]:
    """Compare every gap between tokens with the one op-plugin writes."""
    found = list(tokens)[:-1]
    in_list = False
    for before, after in zip(found, found[1:]):
        wanted = _gap(before.kind, after.kind, in_list)
        if text[before.end : after.start] != wanted:
            yield before, after, wanted
        if (before.kind, after.kind) == ("=", "["):
            in_list = True
        elif after.kind == "]":
            in_list = False


def _gap(before: str, after: str, in_list: bool) -> str:
    if before == ",":
        # `[1, 1]` would be torn apart at ", ".
        return "" if in_list else " "
    if "->" in (before, after) or (after == "name" and before in _ENDS_A_TYPE):
        return " "
    return ""
