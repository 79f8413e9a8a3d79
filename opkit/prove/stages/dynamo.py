"""Stage dynamo: `fullgraph=True` gives one graph that holds the operator's own node after functionalization.

The graph is the one AOTAutograd hands to a backend, so an operator that decomposes, is dropped as dead code
or is run outside the graph is found here, which the absence of graph breaks does not show.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import opkit
from opkit.prove import gradients
from opkit.prove.exhibits import fx_text
from opkit.prove.protocol import StageResult, failed, not_run, proved
from opkit.prove.subject import Subject, first_line, on_npu
from opkit.prove.values import Inputs
from opkit.prove.watch import has_kernel

NAME = "dynamo"


def run(subject: Subject) -> StageResult:
    """Compile with a backend that keeps the graph; count the operator's nodes."""
    import torch

    graphs: list[Any] = []
    texts: dict[str, str] = {}
    expected = 1
    if subject.call is not None:
        expected = _count_calls(subject)
        if not expected:
            return failed(NAME, f"`call` never called {subject.name}")
    given = on_npu(subject.inputs())
    args, kwargs = subject.arguments(given)
    torch._dynamo.reset()
    try:
        compiled = torch.compile(
            subject.model(), backend=_keeping(graphs, texts), fullgraph=True, dynamic=False
        )
        compiled(*args, **kwargs)
    except Exception as error:
        return failed(NAME, f"with fullgraph=True the compile fails: {explain(error)}")
    nodes = [_target(node) for graph in graphs for node in graph.nodes if node.op == "call_function"]
    count = sum(1 for graph in graphs for node in graph.nodes if calls(node, subject.operator))
    evidence: dict[str, Any] = {"graphs": len(graphs), "operator nodes": count, "nodes": nodes, **texts}
    if len(graphs) != 1:
        return failed(NAME, f"{len(graphs)} graphs instead of one", **evidence)
    if not count and not subject.spec.schema.returns and _writes_nothing(subject, given):
        names = ", ".join(f"`{argument.name}`" for argument in subject.spec.schema.mutated)
        return not_run(
            NAME,
            f"because the case gives no tensor for {names}: the call writes and returns nothing and is "
            "rightly removed as dead code. Give a tensor in the case",
        )
    if count != expected:
        return failed(NAME, _why_missing(subject, count, expected), **evidence)
    if gradient := gradients.seen(subject, _keeping([], None)):
        evidence["an input that needs a gradient"] = gradient
    return proved(NAME, **evidence)


def _writes_nothing(subject: Subject, given: Inputs) -> bool:
    """Tell whether the operator has arguments that it writes, and the case a tensor for none of them."""
    names = {argument.name for argument in subject.spec.schema.mutated}
    return bool(names) and all(path[0] not in names for path, _ in given.tensors())


def _keeping(graphs: list[Any], texts: dict[str, str] | None) -> Any:
    """Make a backend that runs what it is given and keeps the functionalized graph, and both as text.

    `texts` is None where nobody reads them: printing takes its time.
    """
    from torch._dynamo.backends.common import aot_autograd
    from torch._functorch.aot_autograd import make_boxed_func

    def compile_graph(module: Any, _inputs: Any) -> Any:
        graphs.append(module.graph)
        if texts is not None:
            texts["after functionalization"] = fx_text(module)
        return make_boxed_func(module.forward)

    functionalize = aot_autograd(fw_compiler=compile_graph)

    def keep(module: Any, inputs: Any, **options: Any) -> Any:
        if texts is not None:
            texts["before functionalization"] = fx_text(module)
        return functionalize(module, inputs, **options)

    return keep


def calls(node: Any, operator: Any) -> bool:
    """Tell whether an FX node is a call of the operator, itself or inside `auto_functionalized`."""
    if node.op != "call_function":
        return False
    if node.target is operator:
        return True
    functionalized = "auto_functionalized" in str(node.target)
    return functionalized and bool(node.args) and node.args[0] is operator


def _target(node: Any) -> str:
    if "auto_functionalized" in str(node.target) and node.args:
        return f"{node.target}({node.args[0]})"
    return str(node.target)


def _count_calls(subject: Subject) -> int:
    """Count how often the case's function calls the operator, by running it eagerly."""
    from torch.utils._python_dispatch import TorchDispatchMode

    operator = subject.operator

    class Counting(TorchDispatchMode):  # type: ignore[misc, unused-ignore]
        count = 0

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            type(self).count += func is operator
            return func(*args, **(kwargs or {}))

    args, kwargs = subject.arguments(on_npu(subject.inputs()))
    with Counting():
        subject.model()(*args, **kwargs)
    return Counting.count


def _why_missing(subject: Subject, count: int, expected: int) -> str:
    text = f"the graph holds {count} nodes of {subject.name}, the function calls it {expected} times"
    if has_kernel(subject.name, "CompositeImplicitAutograd"):
        return f"{text}: it is registered as CompositeImplicitAutograd, so it decomposes into other operators"
    if not subject.spec.schema.returns and not subject.spec.schema.mutated:
        return (
            f"{text}: it returns nothing and declares no mutated argument, so it is removed as dead code; "
            "mark what it writes with (a!), or `side_effect: true`"
        )
    return text


def explain(error: BaseException) -> str:
    """Give the telling part of a Dynamo error: a backend's own error, or a graph break's reason."""
    inner = getattr(error, "inner_exception", None)
    if inner is not None:
        return first_line(inner)
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    wanted = [line for line in lines if line.startswith(("Explanation:", "Developer debug context:"))]
    if type(error).__name__ == "RecompileError":
        wanted = [line for line in lines if line.startswith("- ")]
    told = [line for line in wanted[:2] if not line.endswith(":")]
    return "; ".join([first_line(error), *told]) + _user_place(str(error))


def _user_place(text: str) -> str:
    """Name the line of the user's own code that Dynamo blames, if it blames one."""
    own = str(Path(opkit.__file__).parent)
    frames = re.findall(r'File "([^"]+)", line (\d+)', text.partition("from user code:")[2])
    places = [f" ({Path(file).name}:{line})" for file, line in frames if not file.startswith(own)]
    return places[-1] if places else ""
