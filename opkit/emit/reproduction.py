"""A script that shows one failure of a proof with plain torch and torch_npu, in under 40 lines."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, replace
from pathlib import PurePath

from opkit.emit.header import quoted
from opkit.emit.meta_kernel import Options, helper_functions, prepared
from opkit.emit.mre import call_arguments, call_names, case_inputs
from opkit.errors import OpkitError
from opkit.model.operator import Case, EntryPoint, OpFile, OpSpec
from opkit.model.schema import OperatorName, is_tensor_like

# The most lines that a script has.
LINES = 39


@dataclass(frozen=True)
class Failure:
    """What is to be shown again."""

    op_file: OpFile
    spec: OpSpec
    # With one size for each named dim.
    case: Case
    mode: str
    stage: str
    reason: str
    namespace: str = "npu"
    # Modules and files that register the operators; empty where opkit generates them.
    imports: tuple[str, ...] = ()


_GRAPH = """\
compiled = torch.compile(model, backend={backend}, fullgraph=True, dynamic=False)
for step in ("first call", "second call"):
    eager, graph = to("npu"), to("npu")
    torch.testing.assert_close(compiled(**graph), model(**eager))
    torch.testing.assert_close(graph, eager)
"""
_META = """\
given = to("npu")
with FakeTensorMode() as mode:
    meta = model(**tree_map_only(torch.Tensor, mode.from_tensor, given))
kernel = model(**given)
same = [(a.shape, a.dtype) == (b.shape, b.dtype) for a, b in zip(tree_leaves(meta), tree_leaves(kernel))]
assert all(same), f"Meta kernel: {{meta}}, kernel: {{kernel}}"
for name in {read}:
    torch.testing.assert_close(given[name], to("npu")[name], msg=f"the kernel wrote {{name}}")
"""


def emit(failure: Failure) -> str:
    """Print the script.

    Raises OpkitError when it would need more than torch and torch_npu: a converter that opkit generated, or a
    rule too long for a script.
    """
    graph = failure.stage in (failure.mode, "dynamo", "values", "composition")
    if failure.mode == "ge" and graph and not failure.imports:
        raise OpkitError("GE needs a converter module of its own", "use the command that proves it again")
    text = "\n".join(
        [
            f'"""{_title(failure)}"""',
            "from __future__ import annotations",
            *_imports(failure, graph),
            *_registration(failure),
            *_model(failure),
            *(_GRAPH if graph else _META).format(backend=_backend(failure), read=_read(failure)).splitlines(),
            'print("no difference was seen")',
        ]
    )
    if text.count("\n") >= LINES:
        raise OpkitError("the script would be too long", "use the command that proves it again")
    return text + "\n"


def _read(failure: Failure) -> list[str]:
    """List the arguments that the operator must leave as they are."""
    schema = failure.spec.schema
    return [a.name for a in schema.arguments if is_tensor_like(a.type) and a not in schema.mutated]


def _title(failure: Failure) -> str:
    reason = " ".join(failure.reason.replace('"""', "'''").replace("\\", "/").split())
    return textwrap.shorten(f"{_name(failure).qualified}, stage {failure.stage}: {reason}", 200)


def _name(failure: Failure) -> OperatorName:
    name = failure.spec.schema.name
    return replace(name, namespace=name.namespace or failure.namespace)


def _backend(failure: Failure) -> str:
    if failure.mode != "ge":
        return '"npugraph_ex"'
    return "torchair.get_npu_backend(compiler_config=torchair.CompilerConfig())"


def _imports(failure: Failure, graph: bool) -> list[str]:
    lines = ["import sys", "import torch", "import torch_npu"]
    lines += ["import torchair"] if failure.mode == "ge" and graph else []
    lines += [] if graph else ["from torch._subclasses.fake_tensor import FakeTensorMode"]
    return [*lines, f"from torch.utils._pytree import {'' if graph else 'tree_leaves, '}tree_map_only"]


def _registration(failure: Failure) -> list[str]:
    """Import the user's modules, or define the operator as `opkit gen` would."""
    directory = str(PurePath(failure.op_file.path).parent)
    if failure.imports:
        files = [PurePath(name) for name in failure.imports]
        paths = dict.fromkeys([directory, *(str(f.parent) for f in files if f.suffix == ".py")])
        names = [f.stem if f.suffix == ".py" else str(f) for f in files]
        return [f"sys.path[:0] = {list(paths)!r}", *(f"import {name}" for name in names)]
    lines = [f"sys.path.insert(0, {quoted(directory)})"]
    kernel = failure.spec.kernel or failure.spec.reference
    if kernel is not None:
        lines.append(f"from {_module(kernel)} import {kernel.function} as kernel")
    name = _name(failure)
    lines.append(f'LIBRARY = torch.library.Library({quoted(name.namespace or "")}, "FRAGMENT")')
    lines.append(f"LIBRARY.define({quoted(failure.spec.name + failure.spec.schema.signature())})")
    lines += [line for line in _meta(failure).splitlines() if line.strip()]
    key = quoted(failure.spec.name)
    lines.append(f'LIBRARY.impl({key}, META, "Meta")')
    return [*lines, f'LIBRARY.impl({key}, {"META" if kernel is None else "kernel"}, "PrivateUse1")']


def _module(entry: EntryPoint) -> str:
    return entry.module.removesuffix(".py").replace("/", ".")


def _meta(failure: Failure) -> str:
    options = Options(namespace=failure.namespace)
    [kernel] = prepared(replace(failure.op_file, operators=(failure.spec,)), options)
    entry = kernel.rule.python
    if entry is not None:
        return f"from {_module(entry)} import {entry.function} as META"
    text = helper_functions([kernel]) + kernel.define()
    return f"{text}\nMETA = {kernel.function}"


def _model(failure: Failure) -> list[str]:
    schema = failure.spec.schema
    inputs = ", ".join(f"{quoted(name)}: {text}" for name, text in case_inputs(schema, failure.case))
    if failure.case.call is not None:
        model = f"from {_module(failure.case.call)} import {failure.case.call.function} as model"
    else:
        call = f"torch.ops.{_name(failure).python}({', '.join(call_arguments(schema))})"
        model = f"def model({', '.join(call_names(schema))}):\n    return {call}"
    return [
        "torch.manual_seed(0)",
        f"INPUTS = {{{inputs}}}",
        "def to(device):",
        "    return tree_map_only(torch.Tensor, lambda tensor: tensor.to(device, copy=True), INPUTS)",
        model,
    ]
