"""The kill matrix: what became of every mutant of every operator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from opkit.prove.mutants.catalogue import KINDS
from opkit.prove.mutants.sample import Sample
from opkit.prove.protocol import Runtime

SCHEMA_VERSION = 1
KILLED, SURVIVED, NOT_APPLICABLE, EQUIVALENT = "killed", "survived", "not applicable", "equivalent"


@dataclass(frozen=True)
class Baseline:
    """The unmutated operator in one mode and style."""

    file: str
    operator: str
    style: str
    mode: str
    # "enters", "breaks", or "not generated" where opkit has nothing to mutate.
    outcome: str
    reason: str
    # What opcheck finds wrong with it; empty for nothing, None where opcheck did not run.
    opcheck: str | None


@dataclass(frozen=True)
class Verdict:
    """One mutant."""

    file: str
    operator: str
    style: str
    kind: str
    # Where in the operator; empty for a kind that does not apply.
    place: str
    # "killed", "survived", "not applicable" or "equivalent".
    outcome: str
    # The stage that killed it and its reason; why it does not apply; the evidence that it is no mutant.
    stage: str = ""
    reason: str = ""
    case: str = ""
    # What opcheck says about it: empty for nothing, None where it was not asked.
    opcheck: str | None = None
    seconds: float = 0.0


@dataclass(frozen=True)
class Compared:
    """The killed mutants of one kind that opcheck was asked about as well."""

    kind: str
    killed: int
    found_by_opcheck: int


@dataclass(frozen=True)
class Matrix:
    """The whole report."""

    runtime: Runtime
    baselines: tuple[Baseline, ...]
    verdicts: tuple[Verdict, ...]
    # How many mutants of each operator were judged; None for all of them.
    sample: Sample | None = None

    @property
    def survivors(self) -> tuple[Verdict, ...]:
        """The mutants that the prover took for right."""
        return tuple(v for v in self.verdicts if v.outcome == SURVIVED)

    @property
    def passes(self) -> bool:
        """Tell whether every operator enters unmutated, something was killed and nothing survived."""
        entered = all(b.outcome == "enters" for b in self.baselines)
        killed = {(v.file, v.operator, v.style) for v in self.verdicts if v.outcome == KILLED}
        wanted = {(b.file, b.operator, b.style) for b in self.baselines}
        return bool(wanted) and entered and wanted <= killed and not self.survivors

    def count(self, outcome: str) -> int:
        """Count the mutants that ended so."""
        return sum(v.outcome == outcome for v in self.verdicts)

    @property
    def opcheck_compared(self) -> tuple[Verdict, ...]:
        """The killed mutants that opcheck was asked about as well."""
        return tuple(v for v in self.verdicts if v.outcome == KILLED and v.opcheck is not None)

    @property
    def beyond_opcheck(self) -> tuple[Compared, ...]:
        """Say of each kind how many of its killed mutants opcheck finds as well."""
        found = {name: [v for v in self.opcheck_compared if v.kind == name] for name in KINDS}
        return tuple(
            Compared(name, len(verdicts), sum(bool(v.opcheck) for v in verdicts))
            for name, verdicts in found.items()
            if verdicts
        )

    def to_json(self) -> dict[str, Any]:
        """Give the report as JSON values."""
        return {
            "schema_version": SCHEMA_VERSION,
            "runtime": vars(self.runtime).copy(),
            "passes": self.passes,
            "sample": None if self.sample is None else asdict(self.sample),
            "opcheck": [asdict(found) for found in self.beyond_opcheck],
            "operators": [asdict(b) for b in self.baselines],
            "mutants": [asdict(v) for v in self.verdicts],
            "kinds": [_kind(name) for name in KINDS],
        }


def _kind(name: str) -> Mapping[str, str]:
    kind = KINDS[name]
    return {"name": name, "group": kind.group, "breaks": kind.breaks, "matters": kind.matters}
