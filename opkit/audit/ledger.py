"""The ledger of an audit: the operators that are known not to enter a graph, kept in a repository.

An audit fails against it when an operator that is not recorded cannot enter, and when one that is recorded
can: the list never grows in silence, and never goes stale.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from opkit.audit.findings import CAN, UNKNOWN, Survey
from opkit.errors import OpkitError
from opkit.files import write_atomically

VERSION = 1
# Operator -> graph -> the verdict as recorded.
Exceptions = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class Difference:
    """Where an audit and the ledger disagree."""

    operator: str
    graph: str
    text: str

    def __str__(self) -> str:
        return f"{self.operator}: {self.graph}: {self.text}"


def exceptions(survey: Survey) -> dict[str, dict[str, str]]:
    """List what does not enter, or is not known to."""
    found: dict[str, dict[str, str]] = {}
    for finding in survey.findings:
        for graph, verdict in finding.graphs.items():
            if verdict.verdict != CAN:
                found.setdefault(finding.name, {})[graph] = str(verdict)
    return found


def write(path: Path, survey: Survey) -> bool:
    """Record a survey; return whether the file changed."""
    content = {"ledger_version": VERSION, "subject": survey.subject, "exceptions": exceptions(survey)}
    return write_atomically(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def read(path: Path) -> Exceptions:
    """Read the recorded exceptions. Raises OpkitError for a file that is no ledger."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        recorded: Exceptions = content["exceptions"]
        version = content["ledger_version"]
    except FileNotFoundError:
        raise OpkitError(f"there is no ledger {path}", "write it with --update-ledger") from None
    except (ValueError, KeyError, TypeError) as error:
        raise OpkitError(f"{path} is no ledger: {error}", "write a new one with --update-ledger") from None
    if version != VERSION:
        raise OpkitError(f"{path} is a ledger of version {version}", "write a new one with --update-ledger")
    return recorded


def differences(recorded: Exceptions, survey: Survey) -> Iterator[Difference]:
    """Say what got worse, and which exceptions are no longer needed."""
    now = exceptions(survey)
    names = {finding.name for finding in survey.findings}
    for name, graphs in now.items():
        for graph, verdict in graphs.items():
            known = recorded.get(name, {}).get(graph)
            if known is None:
                yield Difference(name, graph, f"worse: {verdict} (the ledger records no exception)")
            elif known.startswith(UNKNOWN) and not verdict.startswith(UNKNOWN):
                yield Difference(name, graph, f"worse: {verdict} (the ledger says {known})")
    for name, before_by_graph in recorded.items():
        for graph, before in before_by_graph.items():
            if name not in names:
                yield Difference(name, graph, f"the operator is gone; the ledger still says {before}")
            elif graph not in now.get(name, {}):
                yield Difference(name, graph, f"can enter now; the ledger still says {before}")
