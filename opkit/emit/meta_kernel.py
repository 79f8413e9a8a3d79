"""What both styles of Meta module share: names, the functions a rule calls, entry points, side effects."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from opkit.emit.body import kernel_body
from opkit.emit.header import call, quoted
from opkit.emit.signature import Signature, signature
from opkit.errors import OpkitError
from opkit.model.diagnostic import Diagnostic, Severity
from opkit.model.operator import EntryPoint, OpFile, OpSpec
from opkit.model.schema import OperatorName
from opkit.shape.errors import NO_RULE, RuleError
from opkit.shape.rule import Rule, resolve
from opkit.shape.scope import Environment
from opkit.shape.source import called, library_functions, library_names

# Sections of op_plugin_functions.yaml whose operators are torch's own.
_ATEN_SECTIONS = frozenset({"official", "quant", "autograd"})
# Names a generated module uses itself; no argument or operator function may hide them.
RESERVED = frozenset(
    {
        "torch",
        "Tensor",
        "LIBRARIES",
        "DEVICE",
        "library",
        "define",
        "meta_kernel",
        "aten_meta_kernel",
        "out_list_meta_kernel",
        "existing",
        "is_same",
        "RUNS_ON_META",
        "custom_op",
        "kernel",
        "load",
    }
    | {"functools", "importlib", "kernels", "re", "Path", "Any", "Callable", "Sequence", "Shape"}
)


@dataclass(frozen=True)
class Options:
    """How to generate, for a whole file."""

    # Namespace of operators whose `func` names none.
    namespace: str = "npu"
    environment: Environment = field(default_factory=Environment)
    # Path from the generated module's directory to the YAML file's, in POSIX form.
    yaml_directory: str = "."


@dataclass(frozen=True)
class MetaKernel:
    """One operator, ready to be printed in either style."""

    spec: OpSpec
    rule: Rule
    # With its namespace.
    name: OperatorName
    # The function's name in the generated module, unique there.
    function: str
    signature: Signature
    body: str

    @property
    def schema(self) -> str:
        """`ns::name.overload(...) -> ...`."""
        return f"{self.name.qualified}{self.spec.schema.signature()}"

    def define(self, suffix: str = "") -> str:
        """Print the function with the rule as its body."""
        return f"{definition(self.function + suffix, self.signature)}\n{self.body}"


def definition(name: str, of: Signature) -> str:
    """Print a `def` line."""
    return call(name, of.parameters, 0, "def ", f" -> {of.returns}:")


def prepare(op_file: OpFile, options: Options) -> tuple[tuple[MetaKernel, ...], tuple[Diagnostic, ...]]:
    """Resolve and print every operator of a file; what cannot be is in the diagnostics.

    An operator of torch's own needs no rule, since torch has Meta kernels for nearly all of them: it is left
    out if it has none, and with a warning if its rule cannot be used.
    """
    kernels: list[MetaKernel] = []
    problems: list[Diagnostic] = []
    functions: set[str] = set()
    for spec in unique_operators(op_file):
        rule = resolve(spec, op_file, options.environment)
        found = list(rule.diagnostics)
        if rule.usable:
            try:
                of, body = _signature_and_body(rule, options.environment)
            except RuleError as error:
                found.append(replace(error.diagnostic, operator=spec.name))
        if found:
            problems += _warnings(found) if is_aten(spec) else found
            continue
        function = function_name(spec.schema.name, functions)
        functions.add(function)
        name = qualify(spec.schema.name, options.namespace)
        kernels.append(MetaKernel(spec, rule, name, function, of, body))
    return tuple(kernels), tuple(problems)


def _warnings(found: Sequence[Diagnostic]) -> list[Diagnostic]:
    return [replace(d, severity=Severity.WARNING) for d in found if d.code != NO_RULE]


def _signature_and_body(rule: Rule, environment: Environment) -> tuple[Signature, str]:
    """Print the kernel; arguments named like a function that its body calls (`min`, say) get another name."""
    taken: frozenset[str] = RESERVED
    of = signature(rule.spec.schema, taken)
    if rule.python is not None:
        return of, ""
    body = kernel_body(rule, of, environment, taken)
    called_names = frozenset(re.findall(r"(?<![\w.])(\w+)\(", body))
    if called_names & (set(of.spelling.values()) | {name for name, _ in rule.bindings}):
        taken |= called_names
        of = signature(rule.spec.schema, taken)
        body = kernel_body(rule, of, environment, taken)
    return of, body


def prepared(op_file: OpFile, options: Options) -> tuple[MetaKernel, ...]:
    """Like `prepare`, for callers that print: raises OpkitError when an operator has no usable rule."""
    kernels, problems = prepare(op_file, options)
    refuse(problems)
    return kernels


def refuse(problems: Sequence[Diagnostic]) -> None:
    """Raise OpkitError that lists the errors among the problems, if there are any."""
    problems = [d for d in problems if d.severity is Severity.ERROR]
    if problems:
        lines = [f"{d.code} {d.message}" + (f" ({d.mark})" if d.mark else "") for d in problems]
        raise OpkitError("\n".join(lines), problems[0].help)


def unique_operators(op_file: OpFile) -> tuple[OpSpec, ...]:
    """The operators of a file, without the second entry of one that stands in two sections.

    Those of the sections that hold torch's own operators get the namespace `aten`.
    """
    operators = [_in_aten(spec) if spec.section in _ATEN_SECTIONS else spec for spec in op_file.operators]
    first = {spec.schema.name: spec for spec in reversed(operators)}
    return tuple(spec for spec in operators if first[spec.schema.name] is spec)


def _in_aten(spec: OpSpec) -> OpSpec:
    return replace(spec, schema=replace(spec.schema, name=qualify(spec.schema.name, "aten")))


def is_aten(spec: OpSpec) -> bool:
    """Tell whether an operator of `unique_operators` is torch's own."""
    return spec.schema.name.namespace == "aten"


def own_operators(op_file: OpFile) -> tuple[OpSpec, ...]:
    """The operators of a file but for torch's own, which are in no package's API and have a converter."""
    return tuple(spec for spec in unique_operators(op_file) if not is_aten(spec) or spec.ge is not None)


def qualify(name: OperatorName, namespace: str) -> OperatorName:
    """Give an operator the default namespace unless it has its own."""
    return name if name.namespace else replace(name, namespace=namespace)


def function_name(name: OperatorName, used: set[str]) -> str:
    """A function name for an operator, unique in its module."""
    base = f"{name.base}_{name.overload}" if name.overload else name.base
    candidate, number = base, 1
    while (
        candidate in used
        or candidate in RESERVED | library_names()
        or keyword.iskeyword(candidate)
        or hasattr(builtins, candidate)
    ):
        number += 1
        candidate = f"{base}_{number}"
    return candidate


def helper_functions(kernels: Sequence[MetaKernel]) -> str:
    """The text of the library functions that the kernels call."""
    texts = library_functions(name for k in kernels for name in called(k.body))
    return "".join(f"\n\n{text}\n" for text in texts)


def is_file(entry: EntryPoint) -> bool:
    """Tell `path/file.py:function` from `pkg.module:function`."""
    return entry.module.endswith(".py")


def entry_text(entry: EntryPoint, alias: str, options: Options) -> tuple[str, str]:
    """How a module reaches an entry point: an import line (or none), and the expression."""
    if is_file(entry):
        directory = "" if options.yaml_directory in ("", ".") else f"{options.yaml_directory}/"
        return "", f"load({quoted(directory + entry.module)}, {quoted(entry.function)})"
    return f"from {entry.module} import {entry.function} as {alias}", alias


def side_effect(kernel: MetaKernel) -> str:
    """Keep an operator in graphs although nothing reads its result."""
    if not kernel.spec.side_effect:
        return ""
    return f"\n\ntorch.fx.node.has_side_effect(torch.ops.{kernel.name.python})\n"


def tags(spec: OpSpec) -> str:
    """The operator's `tags:` as torch spells them, as a tuple; empty without tags."""
    written = dict(spec.extra).get("tags") or ()
    names = written.replace(",", " ").split() if isinstance(written, str) else list(written)  # type: ignore[call-overload]
    return f"({', '.join(f'torch.Tag.{name}' for name in names)},)" if names else ""


LOAD = '''

@functools.cache
def load(path: str, function: str) -> Callable[..., Any]:
    """Take a function from a file that lies beside this one."""
    file = Path(__file__).parent / path
    spec = importlib.util.spec_from_file_location(file.stem, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is no Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, function)
'''
DEVICE = """
# "npu" once torch_npu has been imported, else torch's own name for the same device type.
DEVICE = torch._C._get_privateuse1_backend_name()
"""


def imports(body: str, lines: Sequence[str]) -> str:
    """The import block a module needs, judged by the names its text uses."""
    standard = []
    if "functools." in body:
        standard.append("import functools")
    if "importlib.import_module" in body:
        standard.append("import importlib")
    if "importlib.util" in body:
        standard.append("import importlib.util")
    if "re.sub(" in body:
        standard.append("import re")
    abc = [name for name in ("Callable", "Sequence") if f"{name}[" in body]
    if abc or "Shape" in body:
        names = sorted({*abc, *(("Sequence",) if "Shape" in body else ())})
        standard.append(f"from collections.abc import {', '.join(names)}")
    if "Path(" in body:
        standard.append("from pathlib import Path")
    if re.search(r"\bAny\b", body):
        standard.append("from typing import Any")
    # A file of stubs that takes and returns tensors needs the name alone.
    torch_lines = ["import torch"] if "torch." in body or "Tensor" not in body else []
    torch_lines += ["from torch import Tensor"] if "Tensor" in body else []
    groups = [["from __future__ import annotations"], standard, torch_lines, sorted(set(lines))]
    return "\n\n".join("\n".join(group) for group in groups if group) + "\n"
