"""Stage ge: the graph that reached GE holds exactly the declared Ascend IR node, wired as declared.

The graph judged is the one torchair serialized for `TorchNpuGraph.load`. A compiled function that ran
eagerly, went to a host callback, or lost the node proves nothing and fails.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import Any

from opkit.cann.ge_graph import GeGraph, GeNode
from opkit.emit.ge_binding import Binding, bind
from opkit.model.diagnostic import Severity
from opkit.model.operator import Case, CaseValue, TensorSpec
from opkit.prove import ge_trace, registered_ir
from opkit.prove.attributes import converted, look_again
from opkit.prove.exhibits import ge_nodes, source_of
from opkit.prove.observe import needs_kernels
from opkit.prove.optionals import look_at_optionals
from opkit.prove.protocol import StageResult, failed, not_run, proved
from opkit.prove.stages.dynamo import explain
from opkit.prove.stages.npugraph_ex import call_compiled, describe_sizes, guard_of, judge, no_recompile
from opkit.prove.subject import Subject, first_line, flat_tensors, on_npu
from opkit.prove.values import size_order, sizes
from opkit.prove.wiring import Wiring

NAME = "ge"
# Nodes torchair makes itself, whose attributes say nothing about the operator.
_PLUMBING = {"Data", "RefData", "Const", "TensorMove", "Identity", "Assign", "NetOutput"}
# The key of the evidence for a graph without the operator, since torchair knows its empty results.
_FOLDED = "folded"
_FOR_ZERO = 3
# What the stand-in says when nothing interprets GE graphs.
_NO_INTERPRETER = "only when an interpreter is set"


def run(subject: Subject) -> StageResult:
    """Compile with torchair, inspect the graph, run it twice, then with other sizes under `dynamic=True`."""
    evidence: dict[str, Any] = {}
    if getattr(subject.operator, "_ge_converter", None) is None:
        return failed(NAME, _why_no_converter(subject))
    if subject.declared.style == "installed" and subject.spec.ge is None:
        why = "because the rule does not tell the Ascend IR that the package's own converter makes (`ge:`)"
        return not_run(NAME, why)
    source = source_of(subject.operator._ge_converter)
    if source is not None:
        evidence["converter"] = source
    binding, findings = bind(subject.spec)
    if binding is None:
        errors = [d.message for d in findings if d.severity is Severity.ERROR]
        return failed(NAME, f"the prototype does not fit the schema: {errors[0]}")
    warnings = [d.message for d in findings if d.severity is Severity.WARNING]
    if warnings:
        evidence["warnings"] = warnings
    teach_interpreter(subject, binding)
    problem = (
        _static(subject, binding, evidence)
        or registered_ir.problem(binding.prototype)
        or _dynamic(subject, evidence)
    )
    case = _grown(subject.case) if _FOLDED in evidence else subject.case
    alone = replace(subject, call=None, runs=[], case=case)
    if not problem and (subject.call is not None or _FOLDED in evidence):
        problem = _alone(alone, binding, evidence)
    problem = problem or look_again(alone, binding, evidence) or look_at_optionals(alone, binding, evidence)
    return failed(NAME, problem, **evidence) if problem else proved(NAME, **evidence)


def teach_interpreter(subject: Subject, binding: Binding) -> None:
    """Tell the stand-in's GE which operator the Ascend IR node is, so that it can run the graph.

    Real GE knows by itself.
    """
    if not needs_kernels():
        return
    from opkit.cann.ge_custom import NodeSpec, register_node
    from opkit.cann.ge_layout_nodes import STANDARD

    if binding.prototype.op in STANDARD:
        return  # It computes the node by itself.
    names = {argument.name: tensor.name for tensor, argument in binding.inputs if argument is not None}
    names |= {argument.name: attribute.name for attribute, argument in binding.attributes}
    fresh = sorted((i, t.name) for t, i in binding.results if i is not None)
    node = NodeSpec(subject.name, names, tuple(name for _, name in fresh))
    register_node(binding.prototype.op, node, replace=True)


def _why_no_converter(subject: Subject) -> str:
    overload = str(subject.operator)
    text = f"no GE converter is registered for torch.ops.{overload}"
    errors = [d.message for d in bind(subject.spec)[1] if d.severity is Severity.ERROR]
    return f"{text}: {errors[0]}" if errors else text


def _static(subject: Subject, binding: Binding, evidence: dict[str, Any]) -> str:
    import torch

    torch._dynamo.reset()
    given = on_npu(subject.inputs(seed=1))
    with ge_trace.Recorder() as recorder:
        compiled = torch.compile(subject.model(), backend=recorder.backend(), fullgraph=True, dynamic=False)
        trace = recorder.trace
        try:
            call_compiled(subject, compiled, given, "first call")
        except Exception as error:
            if trace.error is None or not trace.graphs:
                wrong = _misbuilt(trace, binding.prototype.op)
                return "; ".join([wrong or explain(error), *evidence.get("warnings", [])])
        problem = _graph(subject, trace, binding, evidence)
        if problem:
            return problem
        if trace.error is not None:
            return _not_executed(trace.error, evidence)
        given.copy_from(subject.inputs(seed=2))
        with no_recompile():
            second = call_compiled(subject, compiled, given, "second call")
    if len(trace.graphs) != 1:
        return f"the second call loaded another graph into GE ({len(trace.graphs)} in all)"
    evidence["runs"], evidence["recompiles"] = trace.runs, 0
    if trace.runs != 2:
        return f"GE ran the graph {trace.runs} times in two calls"
    return judge(subject, second, by_kernel=False)


def _not_executed(error: BaseException, evidence: dict[str, Any]) -> str:
    if _NO_INTERPRETER in str(error):
        evidence["run"] = f"not executed, because {first_line(error)}"
        return ""
    return f"GE fails to compile or run the graph: {first_line(error)}"


def _graph(subject: Subject, trace: ge_trace.Trace, binding: Binding, evidence: dict[str, Any]) -> str:
    """Judge the graph that was loaded."""
    if not trace.graphs:
        return "no graph was loaded into GE: the compiled function ran eagerly"
    if len(trace.graphs) != 1:
        return f"{len(trace.graphs)} graphs were loaded into GE instead of one"
    graph = trace.graphs[0]
    evidence["graph"] = [_text(node) for node in graph.nodes]
    evidence["ir"] = ge_nodes(graph)
    wanted = binding.prototype.op
    problem = _callback(graph)
    if problem:
        return problem
    nodes = graph.of_type(wanted)
    types = ", ".join(sorted({node.type for node in graph.nodes}))
    if not nodes and _FOLDED not in evidence and _nothing_to_compute(subject):
        # As with other sizes of 0, only the values count; `_alone` looks at the wiring.
        evidence[_FOLDED] = "the results have no elements: torchair puts a constant in the operator's place"
        return ""
    if not nodes:
        return _misbuilt(trace, wanted) or f"the graph holds no {wanted} node, only {types}"
    if subject.call is None and len(nodes) != 1:
        return f"the graph holds {len(nodes)} {wanted} nodes instead of one: {types}"
    problem = _copied(graph)
    if problem:
        return problem
    dead = {node.name for node in graph.dangling()}
    if any(node.name in dead for node in nodes):
        return f"nothing depends on {wanted}: GE would prune it, and its result is lost"
    if subject.call is not None:
        return ""  # Anything may feed it here; `_alone` compares.
    # The values stage follows when GE ran the graph and there is a reference.
    compared = subject.declared.reference is not None and trace.error is None
    given, results = subject.inputs(seed=1), _result_shapes(subject)
    wiring = Wiring(trace, binding, nodes[0], given, results, compared)
    problem = wiring.problem()
    evidence["inputs"] = wiring.fed
    evidence["attributes"] = nodes[0].ir_attrs
    evidence["written back"] = wiring.written_back()
    return problem


def _alone(subject: Subject, binding: Binding, evidence: dict[str, Any]) -> str:
    """Judge the wiring of the operator by itself: in a `call:` anything may feed it."""
    graph, trace = converted(subject, subject.inputs(seed=1))
    own = {_FOLDED: evidence[_FOLDED]} if _FOLDED in evidence else {}
    problem = graph if isinstance(graph, str) else _graph(subject, trace, binding, own)
    own.pop("graph", None)
    own.pop("ir", None)
    evidence.update(own)
    if not problem:
        return ""
    if _FOLDED in evidence:
        return f"{evidence[_FOLDED]}; with {_FOR_ZERO} for every size of 0: {problem}"
    return f"the operator by itself, with the inputs of the case: {problem}"


def _grown(case: Case) -> Case:
    """Give the case with another number for every size of 0."""

    def dim(size: Any) -> Any:
        return _FOR_ZERO if size == 0 else size

    def grown(value: CaseValue) -> CaseValue:
        if isinstance(value, tuple):
            return tuple(map(grown, value))
        return replace(value, dims=tuple(map(dim, value.dims))) if isinstance(value, TensorSpec) else value

    return replace(
        case,
        inputs=tuple((name, grown(value)) for name, value in case.inputs),
        dims=tuple((name, tuple(map(dim, values))) for name, values in case.dims),
    )


def _nothing_to_compute(subject: Subject) -> bool:
    tensors = flat_tensors(_result_shapes(subject))
    return bool(tensors) and not subject.spec.schema.mutated and all(t.numel() == 0 for t in tensors)


def _misbuilt(trace: ge_trace.Trace, wanted: str) -> str:
    """Say which other Ascend IR the converter asks for, e.g. when its name is misspelt."""
    others = list(dict.fromkeys(name for name in trace.built if name != wanted))
    if not others or wanted in trace.built:
        return ""
    return f"the converter builds {', '.join(others)}, declared {wanted}"


def _callback(graph: GeGraph) -> str:
    for node in graph.nodes:
        if "__" in node.type or "op_name" in node.attrs:
            return (
                f"node {node.type} calls back into the eager kernel on the host; it is no Ascend IR operator"
            )
    return ""


def _copied(graph: GeGraph) -> str:
    for node in graph.nodes:
        if node.type == "Identity" and node.controls:
            return (
                f"the mutated argument comes from an Identity that is only ordered after {node.controls[0]}: "
                "the converter's last node has no output named like the argument, so the update goes through "
                "a copy"
            )
    return ""


def _result_shapes(subject: Subject) -> list[Any]:
    """Give the results as the Meta kernel has them: how many there are and which are lists."""
    from opkit.prove import fake
    from opkit.prove.watch import has_meta

    if not has_meta(subject.name):
        return []
    return fake.call(subject.operator, on_npu(subject.inputs())).results


def _text(node: GeNode) -> str:
    """Print a node on one line: `MyOp: MyOp(x=arg0_1:0, y=, n=3) -> z`."""
    fed = [
        f"{item.name}={'' if item.source is None else f'{item.source.node}:{item.source.index}'}"
        for item in node.inputs
    ]
    controls = [f"after {name}" for name in node.controls]
    if node.type in _PLUMBING:
        return f"{node.name}: {node.type}({', '.join(fed + controls)}) -> {_names(node)}"
    attributes = [f"{name}={value!r}" for name, value in sorted(node.ir_attrs.items())]
    return f"{node.name}: {node.type}({', '.join(fed + attributes + controls)}) -> {_names(node)}"


def _names(node: GeNode) -> str:
    return ", ".join(output.name for output in node.outputs)


def _dynamic(subject: Subject, evidence: dict[str, Any]) -> str:
    """Call with every set of sizes under `dynamic=True`; one graph must serve them all."""
    import torch
    from torch.fx.experimental import _config

    several = sizes(subject.case) > 1
    if not several or "run" in evidence:
        evidence["sizes"] = "not tried" if several else "not tried: the case gives no dim several values"
        return ""
    order, ordinary = size_order(subject.case)
    torch._dynamo.reset()
    # Host integers stay what they are, as in a model; only sizes vary.
    fixed = torch._dynamo.config.patch(specialize_int=True)
    with ge_trace.Recorder() as recorder, _config.patch(use_duck_shape=False), fixed:
        compiled = torch.compile(subject.model(), backend=recorder.backend(), fullgraph=True, dynamic=True)
        for position, size in enumerate(order):
            given = on_npu(subject.inputs(size, seed=3))
            try:
                with no_recompile() if 0 < position < ordinary else nullcontext():
                    done = call_compiled(subject, compiled, given, f"sizes {size + 1}")
            except torch._dynamo.exc.RecompileError as error:
                return f"under dynamic=True set {size + 1} of the sizes compiles again: {guard_of(error)}"
            except Exception as error:
                return f"under dynamic=True with set {size + 1} of the sizes: {explain(error)}"
            problem = judge(subject, done, by_kernel=False)
            if problem:
                return f"under dynamic=True with set {size + 1} of the sizes: {problem}"
            if position == ordinary - 1:
                # A recompile would have raised.
                evidence["dynamic"] = {"sets of sizes": ordinary, "recompiles": 0}
                evidence["sizes"] = f"{ordinary} sets of sizes, {len(recorder.trace.graphs)} graph"
                if len(recorder.trace.graphs) != 1:
                    return "GE got more than one graph under dynamic=True"
    evidence["sizes"] = describe_sizes(evidence.get("sizes", ""), len(order) - ordinary)
    return ""
