"""What `opkit scaffold` is asked for, checked before anything is written."""

from __future__ import annotations

import keyword
import re
import sys
from dataclasses import dataclass

from opkit.emit.ge_binding import check as check_ge
from opkit.emit.ir_json import tensor_kind
from opkit.model.diagnostic import Diagnostic, Mark, Severity, has_errors
from opkit.model.operator import OpSpec
from opkit.model.schema import Argument, OperatorSchema

# One code for what is wrong with the answers; mistakes inside a schema keep the codes of `opkit check`.
CODE = "OPK320"

STYLES = ("library", "custom-op")
# Modules that the generated files import.
_MODULES = {"torch", "torch_npu", "torchair", "opkit"}
# Namespaces that belong to torch: a new operator there would change torch itself.
_TORCH_NAMESPACES = {"aten", "prim", "prims", "torch", "torchvision", "quantized", "inductor", "higher_order"}


@dataclass(frozen=True)
class Answers:
    """A checked request. Everything the templates need follows from it."""

    name: str
    namespace: str
    style: str
    schema: OperatorSchema
    # The modes the operator can enter; GE takes fewer schemas than npugraph_ex.
    modes: tuple[str, ...]

    @property
    def package(self) -> str:
        """The generated Python package."""
        return f"{self.name.rstrip('_')}_ops"

    @property
    def func(self) -> str:
        """The `func:` line: the custom-op style carries its namespace, op-plugin's style never does."""
        prefix = f"{self.namespace}::" if self.style == "custom-op" else ""
        return f"{prefix}{self.schema}"


def default_schema(name: str, in_place: bool) -> str:
    """Give the schema used where none is asked for."""
    return (
        f"{name}(Tensor(a!) x, Tensor y) -> Tensor" if in_place else f"{name}(Tensor x, Tensor y) -> Tensor"
    )


def check_answers(
    name: str, schema: str | None, in_place: bool, style: str, namespace: str | None
) -> tuple[Answers | None, tuple[Diagnostic, ...]]:
    """Check a request; None with at least one error if nothing can be made of it."""
    findings: list[Diagnostic] = []
    if "::" in name:
        prefix, _, name = name.partition("::")
        if namespace not in (None, prefix):
            findings.append(_error(f"the name is in {prefix!r}, --namespace says {namespace!r}", name))
        namespace = prefix
    space = namespace or ("npu" if style == "library" else "mylib")
    findings += [*_check_name("operator name", name), *_check_name("namespace", space)]
    if space in _TORCH_NAMESPACES:
        findings.append(
            _error(f"namespace {space!r} belongs to torch", space, "choose one of your own, or npu")
        )
    if findings:
        return None, tuple(findings)
    parsed, mistakes = _parse(name, schema or default_schema(name, in_place), space)
    if parsed is None:
        return None, mistakes
    findings += [*mistakes, *_check_schema(parsed, name, in_place)]
    ge = check_ge(_bare_spec(parsed))
    modes = ("npugraph_ex",) if has_errors(ge) else ("npugraph_ex", "ge")
    if has_errors(findings):
        return None, tuple(findings)
    # What keeps an operator out of GE does not keep it out of npugraph_ex.
    notes = [Diagnostic(d.code, Severity.WARNING, d.message, d.mark, d.help, d.operator) for d in ge]
    return Answers(name, space, style, parsed, modes), (*findings, *notes)


def check_directory(name: str) -> tuple[Diagnostic, ...]:
    """Find that a directory would be taken for a module when Python runs beside it."""
    standard = getattr(sys, "stdlib_module_names", sys.builtin_module_names)  # Python 3.10 has the former
    if name not in _MODULES and name not in standard:
        return ()
    message = f"a directory named {name!r} would be taken for the Python module {name!r}"
    return (_error(message, name, f"choose another, for example -o {name}_op"),)


def _parse(name: str, text: str, namespace: str) -> tuple[OperatorSchema | None, tuple[Diagnostic, ...]]:
    """Parse the schema. A bare signature gets the operator's name, a namespace is taken off."""
    from opkit.read import parse_schema

    column = 1 + len(text) - len(text.lstrip())
    text = text.strip()
    if text.startswith(f"{namespace}::"):
        column += len(namespace) + 2
        text = text[len(namespace) + 2 :]
    if text.startswith("("):
        column -= len(name)
        text = name + text
    # Columns count in the text as it was typed.
    schema, diagnostics = parse_schema(text, Mark("<schema>", 1, column, len(text)))
    return (None if has_errors(diagnostics) else schema), tuple(diagnostics)


def _check_name(what: str, name: str) -> list[Diagnostic]:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        proposal = re.sub(r"\W+", "_", name).strip("_").lower()
        proposal = f"op_{proposal}" if proposal[:1].isdigit() or not proposal else proposal
        return [_error(f"{what} {name!r} is not an identifier", name, f"for example {proposal}")]
    if keyword.iskeyword(name):
        return [_error(f"{what} {name!r} is a Python keyword", name, f"for example {name}_op")]
    if name.startswith("__") or not name.strip("_"):
        return [_error(f"{what} {name!r} is reserved", name, "begin it with a letter")]
    return []


def _check_schema(schema: OperatorSchema, name: str, in_place: bool) -> list[Diagnostic]:
    """Find what the schema language allows but a scaffold cannot fill in."""
    findings = []
    if schema.name.base != name:
        findings.append(_error(f"the schema is of {schema.name.base!r}, not of {name!r}", schema.mark))
    if schema.name.overload:
        findings.append(
            _error(
                "a scaffold holds one operator without overloads",
                schema.mark,
                "add overloads to ops.yaml later",
            )
        )
    if in_place and not schema.mutated:
        findings.append(
            _error(
                "--in-place is asked for, but the schema writes no argument",
                schema.mark,
                "write Tensor(a!) x",
            )
        )
    for argument in schema.arguments:
        if keyword.iskeyword(argument.name):
            findings.append(
                _error(f"argument {argument.name!r} is a Python keyword", argument.mark, "rename it")
            )
        elif _needs_value(argument):
            findings.append(
                _error(
                    f"no test value is known for {argument.type} {argument.name}",
                    argument.mark,
                    "give it a default, or write the package's ops.yaml by hand and use `opkit gen`",
                )
            )
    if not schema.returns and not schema.mutated:
        findings.append(
            _error(
                "the operator returns nothing and writes nothing",
                schema.mark,
                "return a tensor or write Tensor(a!)",
            )
        )
    if not any(a.is_tensor for a in schema.arguments):
        findings.append(
            _error(
                "no argument is a plain Tensor to take the result's shape from",
                schema.mark,
                "add a Tensor argument",
            )
        )
    for result in schema.returns:
        if result.alias is not None:
            findings.append(
                _error(
                    "a result that is an argument is not taken into a graph as it is",
                    result.mark,
                    "return nothing, `-> ()`: the caller has the argument; `opkit explain OPK101` tells more",
                )
            )
        elif tensor_kind(result.type) != "required":
            findings.append(
                _error(
                    f"a scaffold writes no rule for a result of type {result}",
                    result.mark,
                    "return fresh tensors; for anything else write ops.yaml by hand and use `opkit gen`",
                )
            )
    return findings


def _needs_value(argument: Argument) -> bool:
    """Tell whether an argument must be given in a case although nothing sensible can be invented for it."""
    from opkit.scaffold.declare import case_value

    return argument.default is None and not argument.is_optional and case_value(argument) is None


def _error(message: str, at: str | Mark, help: str = "") -> Diagnostic:
    # The mistake is on the command line, not in a file: the mark is the word itself.
    mark = at if isinstance(at, Mark) else Mark("<command line>", 1, 1, len(at))
    return Diagnostic(CODE, Severity.ERROR, message, mark, help)


def _bare_spec(schema: OperatorSchema) -> OpSpec:
    return OpSpec(
        schema=schema,
        section="custom",
        op_api=(),
        acl_op=(),
        gen_opapi=None,
        meta=None,
        ge=None,
        cases=(),
        reference=None,
        kernel=None,
        extra=(),
        side_effect=False,
        mark=schema.mark,
    )
