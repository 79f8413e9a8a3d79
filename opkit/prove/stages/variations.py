"""Stage variations: Meta kernel, eager kernel and declared rule agree around the declared case, too.

Cases are drawn with a seed (`opkit prove --seed`); what either side refuses is counted and not judged. A
disagreement is made as small as it gets before it is reported. Every named dim as 1 and as 0 is always tried.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from opkit.model.operator import Case
from opkit.prove import compare, expected, fake, kernels
from opkit.prove.cases import shown
from opkit.prove.generated import edges, search
from opkit.prove.plan import STYLES
from opkit.prove.protocol import StageResult, failed, proved
from opkit.prove.subject import NotApplicable, Subject, first_line, on_cpu, on_npu, place, results_of
from opkit.prove.values import Contents, Inputs, inputs
from opkit.prove.watch import has_meta

NAME = "variations"
EXAMPLES = 20
# How the outcome of a call begins that was compared.
EQUAL = "equal"


def run(subject: Subject) -> StageResult:
    """Draw cases and compare what the Meta kernel says with what the kernel does.

    Raises NotApplicable when no call could be compared: nothing is proved, then.
    """
    seed = subject.setting.seed
    evidence: dict[str, Any] = {"seed": seed}
    if not has_meta(subject.name):
        raise NotApplicable("no varied cases were drawn: there is no Meta kernel to compare with")
    counts: Counter[str] = Counter()

    def problem(case: Case) -> str:
        found, text = _compare(subject, case, seed)
        counts[found] += 1
        return text

    smallest = next(((text, case) for case in edges(subject.case) if (text := problem(case))), None)
    smallest = smallest or search(subject.spec.schema, subject.case, seed, EXAMPLES, problem)
    evidence["calls"] = dict(counts)
    if smallest is None:
        if not any(count for found, count in counts.items() if found.startswith(EQUAL)):
            seen = ", ".join(f"{count} {found}" for found, count in counts.items())
            raise NotApplicable(f"no varied case could be compared: {seen}")
        return proved(NAME, **evidence)
    text, case = smallest
    evidence["smallest"] = shown(case)
    subject.failing = case
    return failed(NAME, f"with {_described(case)}: {text}", **evidence)


def _described(case: Case) -> str:
    """Print a case on one line."""
    return ", ".join(f"{name}={value}" for name, value in shown(case).items())


def _compare(subject: Subject, case: Case, seed: int) -> tuple[str, str]:
    """Give (what came of the call, how the sides differ or "")."""
    made = inputs(subject.spec.schema, case, 0, Contents(seed, signed=False))
    given = on_npu(made)
    answer = expected.asked(subject.declared, given)
    rule = answer.results
    if answer.refusal:
        return "refused by the rule", ""
    try:
        metas = fake.call(subject.operator, given).results
    except Exception as error:
        # One written by hand may know more than the rule does; one made from the rule may not.
        if rule is not None and subject.declared.style in STYLES:
            return "different", f"the Meta kernel raises {first_line(error)}, which the rule does not"
        return "refused by the Meta kernel", ""
    if rule is not None:
        problem = expected.difference(subject.declared, metas, rule)
        if problem:
            return "different", problem
    return _kernel(subject, made, given, metas, rule is not None)


def _kernel(
    subject: Subject, made: Inputs, given: Inputs, metas: list[Any], rule_known: bool
) -> tuple[str, str]:
    """Compare the Meta kernel with the operator's own kernel, or with the reference."""
    bound, reference = kernels.is_bound(subject), subject.declared.reference
    if bound and reference is None:
        return (f"{EQUAL} to the rule", "") if rule_known else ("without a rule or a kernel to compare", "")
    before = on_cpu(given)
    try:
        if bound and reference is not None:
            given, who = made.map(lambda tensor: tensor.clone()), "the reference"
            args, kwargs = given.full_call()
            results = results_of(reference(*args, **kwargs))
        else:
            who = "the kernel"
            args, kwargs = given.call()
            results = results_of(subject.operator(*args, **kwargs))
        after = on_cpu(given)
    except Exception:
        return "refused by the kernel", ""
    problem = compare.layouts(results, metas, who, strides=False)
    mutated = {argument.name for argument in subject.spec.schema.mutated}
    for (path, old), (_, new) in zip(before.tensors(), after.tensors()):
        if not problem and path[0] not in mutated and not compare.same_bits(old, new):
            problem = f"{who} writes {place(path)}, which the schema declares as read-only"
    return ("different" if problem else EQUAL), problem
