"""Errors that are the user's to mend. The CLI prints them without a traceback and exits with 2."""

from __future__ import annotations


class OpkitError(Exception):
    """Something the user can mend: what went wrong, and what to do about it."""

    def __init__(self, message: str, help: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.help = help

    def __str__(self) -> str:
        return f"{self.message}\n  help: {self.help}" if self.help else self.message
