"""What is known about one installed operator, and whether it can enter each graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

CAN, CANNOT, UNKNOWN = "can enter", "cannot", "unknown"
GRAPHS = ("npugraph_ex", "ge")
SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Verdict:
    """Whether an operator can enter a graph."""

    verdict: str
    # Why it cannot, or why that is not known; what it needs where it can.
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.verdict}: {self.reason}" if self.reason else self.verdict


@dataclass(frozen=True)
class Finding:
    """One operator of the installed package."""

    # ns::name.overload
    name: str
    schema: str
    # "python", "C++", "composite" or "none".
    meta: str
    # Where the Python Meta function and the schema disagree.
    signature: tuple[str, ...]
    # Arguments that the schema declares as written, and what torch makes of that; "" when all is well.
    mutated: tuple[str, ...]
    mutation_problem: str
    # "explicit", "refuses" (it only raises), "none", or "unknown" when the GE worker could not tell.
    converter: str
    # Why torchair cannot make a converter by itself.
    automatic: str
    # "aclnn", "aclop", "partly aclop" (for some arguments) or "unknown", and the kernels seen in the journal.
    kernel: str
    launches: tuple[str, ...]
    # opkit ships a rule for it.
    rule: bool
    # The rule says what is wrong with the Meta kernel, and `opkit.register` puts it in its place.
    corrected: bool
    # Why it ships none, where that is known.
    no_rule: str
    # The rule says that a result can be an argument itself, which the schema does not say.
    returns_argument: bool
    graphs: Mapping[str, Verdict] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Give the finding as JSON values."""
        return asdict(self)


@dataclass(frozen=True)
class Survey:
    """The whole report of `opkit audit`."""

    subject: str
    runtime: str
    torch: str
    torch_npu: str
    soc: str
    findings: tuple[Finding, ...]
    # What could not be asked, because a worker died.
    problems: tuple[str, ...] = ()

    def totals(self) -> dict[str, dict[str, int]]:
        """Count the verdicts per graph."""
        counts = {graph: dict.fromkeys((CAN, CANNOT, UNKNOWN), 0) for graph in GRAPHS}
        for finding in self.findings:
            for graph, verdict in finding.graphs.items():
                counts[graph][verdict.verdict] += 1
        return counts

    def to_json(self) -> dict[str, Any]:
        """Give the report as JSON values."""
        return {
            "schema_version": SCHEMA_VERSION,
            **{key: getattr(self, key) for key in ("subject", "runtime", "torch", "torch_npu", "soc")},
            "totals": self.totals(),
            "problems": list(self.problems),
            "operators": [finding.to_json() for finding in self.findings],
        }


def judged(finding: Finding) -> dict[str, Verdict]:
    """Decide for each graph; the first thing that stands in the way is the reason."""
    shared = _shared(finding)
    return {
        "npugraph_ex": shared or _npugraph_ex(finding),
        "ge": shared or _ge(finding),
    }


def _shared(finding: Finding) -> Verdict | None:
    """What both graphs need."""
    if finding.meta == "none" and not finding.rule:
        because = f", and opkit no rule: {finding.no_rule}" if finding.no_rule else ""
        return Verdict(CANNOT, f"it has no Meta kernel{because}")
    refusals = [difference for difference in finding.signature if not _is_other_default(difference)]
    if refusals and not finding.corrected:
        return Verdict(CANNOT, f"its Meta kernel cannot be called as its schema says: {refusals[0]}")
    if finding.mutation_problem:
        return Verdict(CANNOT, finding.mutation_problem)
    if finding.returns_argument:
        return Verdict(CANNOT, "a result can be an argument itself, which its schema does not say")
    if finding.meta == "composite":
        return Verdict(UNKNOWN, "it is composite: what it is made of enters, or does not")
    return None


def _is_other_default(difference: str) -> bool:
    """Tell a default that differs, which matters only to a call that leaves the argument out."""
    return "defaults to" in difference


def _needs(finding: Finding) -> str:
    if finding.meta == "none" or finding.corrected:
        return 'with opkit.register("torch_npu")'
    others = [difference for difference in finding.signature if _is_other_default(difference)]
    return f"but its Meta kernel has another default: {others[0]}" if others else ""


def _npugraph_ex(finding: Finding) -> Verdict:
    kernels = ", ".join(name for name in finding.launches if name.startswith("aclop"))
    if finding.kernel == "aclop":
        return Verdict(
            CANNOT, f"its kernel is aclop, which cannot be captured{f' ({kernels})' * bool(kernels)}"
        )
    if finding.kernel == "partly aclop":
        need = f"{_needs(finding)}, " if _needs(finding) else ""
        return Verdict(CAN, f"{need}but not with every argument: some lead to an aclop kernel ({kernels})")
    if finding.kernel == "unknown":
        return Verdict(UNKNOWN, "no call showed which kernels it launches; `opkit prove` with a case does")
    return Verdict(CAN, _needs(finding))


def _ge(finding: Finding) -> Verdict:
    if finding.converter == "explicit":
        return Verdict(CAN, _needs(finding))
    if finding.converter == "unknown":
        return Verdict(UNKNOWN, "torchair could not be asked for its converter")
    if finding.converter == "refuses":
        return Verdict(CANNOT, "its converter only raises that it is not implemented")
    if finding.automatic:
        return Verdict(CANNOT, f"it has no converter, and torchair makes none: {finding.automatic}")
    return Verdict(UNKNOWN, "it has no converter; torchair makes one if CANN has an Ascend IR of its name")
