"""Comments that silence findings: `# opkit: ignore[OPK101, OPK105]` on, in or right above an entry."""

from __future__ import annotations

import re

from opkit.model.operator import Suppression
from opkit.read.document import Document

_COMMENT = re.compile(r"#\s*opkit:\s*ignore\[([^\]\n]*)\]")


def read_suppressions(document: Document) -> tuple[Suppression, ...]:
    """Find the comments and the entries they belong to; one outside every entry belongs to none."""
    if "opkit:" not in document.text:
        return ()
    lines = document.text.split("\n")
    found = []
    for number, line in enumerate(lines, 1):
        match = _COMMENT.search(line)
        if not match:
            continue
        codes = tuple(code.strip() for code in match[1].split(",") if code.strip())
        owner = number
        if line.lstrip().startswith("#"):
            # A comment of its own line belongs to the entry that begins right below, if one does.
            while owner < len(lines) and (
                not lines[owner - 1].strip() or lines[owner - 1].lstrip()[0] == "#"
            ):
                owner += 1
            if not any(first == owner for first, _ in document.entries):
                owner = number
        for first, last in document.entries:
            if first <= owner <= last:
                found.append(Suppression(codes, min(first, number), last))
                break
    return tuple(found)
