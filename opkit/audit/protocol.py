"""What the host judge says, and the JSON forms in which a worker and a report say it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

# Host and rule gave the same, or both refused the arguments.
AGREES, BOTH_RAISE = "agrees", "both raise"
# They gave something else, or one of them refused; or the host took the process with it.
DIFFERS, HOST_RAISES, RULE_RAISES, CRASHES = "differs", "host raises", "rule raises", "host crashes"
# The rule could not be asked at all.
UNUSABLE = "unusable"

GOOD = (AGREES, BOTH_RAISE)
SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Comparison:
    """One call, made of the compiled host code and of the rule."""

    # The case, and what was varied in it: "case1", "case1, B=3", "case1, bias=None".
    call: str
    verdict: str
    # What each gave: results as text, or the exception.
    host: str
    rule: str


@dataclass(frozen=True)
class Judgement:
    """Everything asked about one operator on one SoC."""

    file: str
    operator: str
    soc: str
    comparisons: tuple[Comparison, ...]
    # Where the rule begins in its file.
    line: int = 1
    # Whether the cases were written for this SoC, and the rule does not say that it has no such operator.
    primary: bool = True

    @property
    def counts(self) -> Mapping[str, int]:
        """How often each verdict was given."""
        return Counter(comparison.verdict for comparison in self.comparisons)

    @property
    def agrees(self) -> bool:
        """Tell whether something was compared and nothing contradicts the rule."""
        return bool(self.comparisons) and all(c.verdict in GOOD for c in self.comparisons)


@dataclass(frozen=True)
class HostReport:
    """The whole report of `opkit audit --host`."""

    runtime: str
    torch: str
    torch_npu: str
    judgements: tuple[Judgement, ...]

    @property
    def agrees(self) -> bool:
        """Tell whether every rule agrees with the host on every SoC, and one was judged at all."""
        return bool(self.judgements) and all(j.agrees for j in self.judgements) and not self.uncompared

    @property
    def uncompared(self) -> frozenset[str]:
        """Name the operators of which nothing was compared on a SoC for which their cases were written."""
        return frozenset(j.operator for j in self.judgements if j.primary) - self._compared

    @property
    def elsewhere(self) -> frozenset[str]:
        """Name the operators that host and rule refuse on every SoC asked, none being meant to have them."""
        return frozenset(j.operator for j in self.judgements) - self._compared - self.uncompared

    @property
    def _compared(self) -> frozenset[str]:
        return frozenset(j.operator for j in self.judgements if j.counts[AGREES])

    def explain(self) -> str:
        """Describe what does not agree, each call of it."""
        from opkit.report.host import render

        wrong = (j for j in self.judgements if not j.agrees or j.operator in self.uncompared)
        return render(replace(self, judgements=tuple(wrong)))

    def to_json(self) -> dict[str, Any]:
        """Give the report as JSON values."""
        return {"schema_version": SCHEMA_VERSION, **asdict(self)}


@dataclass(frozen=True)
class Request:
    """What one worker is to judge; written to a file that the worker reads."""

    soc: str
    cann: str
    namespace: str
    # (file, operator) pairs.
    subjects: tuple[tuple[str, str], ...]
    stand_in: bool | None = None
    # Whether the cases were written for this SoC: there a call is refused only where its case says so.
    primary: bool = True

    def to_json(self) -> dict[str, Any]:
        """Give the request as JSON values."""
        return asdict(self)

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> Request:
        """Read the form `to_json` wrote."""
        return Request(**{**value, "subjects": tuple((file, name) for file, name in value["subjects"])})
