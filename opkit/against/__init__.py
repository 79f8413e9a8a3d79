"""Comparing operator schemas with hand-written code, by reading its source: nothing is imported or run."""

from __future__ import annotations

from opkit.against.compare import compare

__all__ = ["compare"]
