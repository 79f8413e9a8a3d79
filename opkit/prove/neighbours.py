"""The other operators of a file that share a graph with the one that is proved."""

from __future__ import annotations

from typing import Any

from opkit.errors import OpkitError
from opkit.prove import fake
from opkit.prove.cases import Candidate, candidates
from opkit.prove.compare import same_bits
from opkit.prove.contexts import Operator, operator_of, own_copies, with_results
from opkit.prove.subject import Declared, Subject, first_line, on_npu, results_of
from opkit.prove.watch import has_meta, is_defined

# How many others share the graph: the next ones of the file, after the last again the first.
MOST = 3


def neighbours(subject: Subject) -> tuple[dict[str, Operator], dict[str, str]]:
    """Give the operators that can share a graph with this one, and why others that were tried cannot."""
    found: dict[str, Operator] = {}
    left_out: dict[str, str] = {}
    # The stand-in runs one operator for each Ascend IR.
    taken = {_ir(subject.declared)}
    for declared in _next(subject):
        if len(found) == MOST:
            break
        if subject.setting.mode == "ge" and (ir := _ir(declared)) and ir in taken:
            left_out[declared.spec.name] = f"its Ascend IR {ir} is that of another operator here"
            continue
        try:
            other = _operator(subject, declared)
        except Exception as error:
            left_out[declared.spec.name] = first_line(error)
            continue
        if isinstance(other, str):
            left_out[declared.spec.name] = other
        else:
            found[declared.spec.name] = other
            taken.add(_ir(declared))
    return found, left_out


def _next(subject: Subject) -> list[Declared]:
    """List the other operators of the file in order, from this one on."""
    mine = subject.declared.op_file.path
    all_ = [item for item in subject.setting.others if item.op_file.path == mine]
    position = next((i for i, item in enumerate(all_) if item.identity == subject.declared.identity), 0)
    return [item for item in all_[position + 1 :] + all_[:position] if item.qualified != subject.name]


def _operator(subject: Subject, declared: Declared) -> Operator | str:
    """Make an operator ready with its first case, or say why it cannot be in a graph."""
    from opkit.cann.operators import find_operator

    name = declared.qualified
    if declared.problem:
        return declared.problem
    if not is_defined(name):
        return "it is not registered"
    if not has_meta(name):
        return "it has no Meta kernel"
    overload: Any = find_operator(name)
    if subject.setting.mode == "ge" and getattr(overload, "_ge_converter", None) is None:
        return "it has no GE converter"
    reason = "it has no case that calls it by itself"
    for candidate in candidates(declared.spec):
        for _, case in candidate.alternatives if isinstance(candidate, Candidate) else ():
            if case.raises or case.call is not None:
                continue
            other = Subject(subject.setting, declared, case, operator=overload, signed=False)
            try:
                return _called(other)
            except Exception as error:
                reason = first_line(error)
    return reason


def _ir(declared: Declared) -> str:
    """Give the type of the operator's node in GE."""
    from opkit.emit.ge_binding import bind

    binding, _ = bind(declared.spec)
    return "" if binding is None else binding.prototype.op


def teach(subject: Subject) -> None:
    """Let the stand-in's GE run an operator's Ascend IR."""
    from opkit.emit.ge_binding import bind
    from opkit.prove.stages.ge import teach_interpreter

    binding, _ = bind(subject.spec)
    if binding is not None:
        teach_interpreter(subject, binding)


def _called(other: Subject) -> Operator:
    """Run a case with the Meta kernel and eagerly. Raises what either raises, and for an undeclared write."""
    op = operator_of(other, on_npu(other.inputs()))
    fake.call(other.operator, op.given)
    if other.setting.mode == "ge":
        teach(other)
    op = with_results(op, results_of(op.call(own_copies(op, op.values))))
    # A graph may reorder two calls of which one writes, undeclared, what the other reads.
    for ((name, _), before), (_, now) in zip(other.inputs().tensors(), op.given.tensors(), strict=True):
        if name not in op.written and not same_bits(before, now.cpu()):
            raise OpkitError(f"it writes {name}, which its schema declares as read-only")
    return op
