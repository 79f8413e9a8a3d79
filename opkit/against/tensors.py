"""The tensors a Meta kernel makes: on which device, and of which dtype.

A kernel of the dispatch key Meta runs on meta tensors and has to give meta tensors; a fake kernel
(`register_fake`) runs on fake tensors and has to give the device the eager kernel would (torch 2.6 to 2.13).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from opkit.against.declared import finding
from opkit.against.flow import FACTORIES, FRESH_FUNCTIONS, FRESH_METHODS, Flow
from opkit.against.registration import Kind
from opkit.model.diagnostic import Diagnostic, Severity
from opkit.model.schema import BaseType, OptionalType

DEVICE = "OPK230"
DTYPE = "OPK232"


def check_tensors(flow: Flow) -> Iterator[Diagnostic]:
    """Report tensors on a device that does not follow the arguments, and dtypes that are none."""
    returned = _returned(flow)
    inside_device = {
        id(n)
        for node in flow.nodes
        if isinstance(node, (ast.With, ast.AsyncWith))
        and any("device" in ast.unparse(item.context_expr) for item in node.items)
        for n in ast.walk(node)
    }
    for node in flow.nodes:
        if not isinstance(node, ast.Call) or not _makes_tensor(flow, node):
            continue
        keywords = {k.arg: k.value for k in node.keywords}
        if None in keywords:  # **options may hold anything
            continue
        if id(node) not in inside_device:
            yield from _check_device(flow, node, keywords.get("device"), id(node) in returned)
        if "dtype" in keywords:
            yield from _check_dtype(flow, node, keywords["dtype"])


def _makes_tensor(flow: Flow, node: ast.Call) -> bool:
    dotted = flow.source.dotted(node.func)
    if dotted.startswith("torch."):
        return dotted[len("torch.") :] in FRESH_FUNCTIONS
    return isinstance(node.func, ast.Attribute) and node.func.attr in FRESH_METHODS - {"clone"}


def _returned(flow: Flow) -> set[int]:
    """The expressions that may be results."""
    found: set[int] = set()
    for node in flow.nodes:
        if isinstance(node, ast.Return) and node.value is not None:
            for value in flow.meanings(node.value):
                items = value.elts if isinstance(value, (ast.Tuple, ast.List)) else [value]
                found |= {id(m) for item in items for m in flow.meanings(item)}
    return found


def _check_device(
    flow: Flow, node: ast.Call, device: ast.expr | None, is_result: bool
) -> Iterator[Diagnostic]:
    kind = flow.registration.kind
    name = flow.source.dotted(node.func).rpartition(".")[2]
    missing = device is None or (isinstance(device, ast.Constant) and device.value is None)
    tensor = _some_tensor(flow)
    help = f"take it from an argument: device={tensor}.device"
    if missing:
        if name not in FACTORIES or not flow.source.dotted(node.func).startswith("torch."):
            return
        problem = f"makes a tensor on the CPU: `torch.{name}` without a device"
    else:
        text = _device_text(flow, device)
        if text is None or (kind is Kind.META and text == "meta"):
            return
        problem = f"makes a tensor on the device {text}, wherever its arguments are"
    severity = Severity.ERROR if is_result else Severity.WARNING
    message = f"the {kind.value} of {flow.declared.name} {problem}"
    yield finding(DEVICE, severity, flow.declared, message, flow.source.mark(device or node), help)


def _device_text(flow: Flow, device: ast.expr | None) -> str | None:
    if isinstance(device, ast.Call) and flow.source.dotted(device.func) == "torch.device" and device.args:
        device = device.args[0]
    return flow.source.text_of(device)


def _some_tensor(flow: Flow) -> str:
    tensors = [name for name, a in flow.arguments.items() if a.is_tensor]
    return tensors[0] if tensors else "x"


def _check_dtype(flow: Flow, node: ast.Call, dtype: ast.expr) -> Iterator[Diagnostic]:
    for value in flow.meanings(dtype):
        what = ""
        if isinstance(value, ast.Constant) and type(value.value) is int:
            what = f"the number {value.value}"
        elif isinstance(value, ast.Name) and value.id in flow.arguments:
            type_ = flow.arguments[value.id].type
            inner = type_.element if isinstance(type_, OptionalType) else type_
            if inner in (BaseType("int"), BaseType("SymInt")) and not _is_tested(flow, value.id):
                what = f"`{value.id}`, an {type_} in the schema,"
        if what:
            message = f"the {flow.registration.kind.value} of {flow.declared.name} gives {what} as a dtype"
            help = "look up the torch.dtype the number stands for"
            yield finding(DTYPE, Severity.ERROR, flow.declared, message, flow.source.mark(dtype), help)
            return


def _is_tested(flow: Flow, name: str) -> bool:
    """Tell whether the function asks what type the argument has."""
    return any(
        isinstance(n, ast.Call) and flow.source.dotted(n.func) == "isinstance" and name in ast.unparse(n)
        for n in flow.nodes
    )
