"""The operators of a YAML file as the dispatcher knows them, which is what hand-written code has to fit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from opkit.model.diagnostic import Diagnostic, Mark, Severity
from opkit.model.operator import OpFile, OpSpec
from opkit.model.registered import gather_out
from opkit.model.schema import Argument, Return

# Entries of these sections override or register kernels of operators torch itself defines.
_ATEN_SECTIONS = ("official", "quant", "autograd")


@dataclass(frozen=True)
class Declared:
    """One operator under its registered signature."""

    op: OpSpec
    op_file: OpFile
    # Empty where neither the file nor its section tells; any namespace but aten may be meant.
    namespace: str
    positional: tuple[Argument, ...]
    keyword_only: tuple[Argument, ...]
    returns: tuple[Return, ...]

    @property
    def name(self) -> str:
        """`base` or `base.overload`."""
        return self.op.name

    def argument(self, name: str) -> Argument | None:
        """Find an argument by the name the schema gives it."""
        return next((a for a in (*self.positional, *self.keyword_only) if a.name == name), None)

    def ignores(self, code: str) -> bool:
        """Tell whether a comment of the operator's entry silences a code."""
        line = self.op.mark.line
        return any(code in s.codes and s.first_line <= line <= s.last_line for s in self.op_file.suppressions)


class Declarations:
    """The operators of one or more YAML files, found by namespace and name."""

    def __init__(self, op_files: Iterable[OpFile]) -> None:
        self.all = [declare(op, file) for file in op_files for op in file.operators]
        self._by_name: dict[str, list[Declared]] = {}
        for declared in self.all:
            self._by_name.setdefault(declared.name, []).append(declared)

    def find(self, namespace: str, name: str) -> list[Declared]:
        """Give the declarations of an operator: several where the schema differs between versions."""
        return [d for d in self._by_name.get(name, []) if _may_be(d.namespace, namespace)]

    def names(self, namespace: str) -> list[str]:
        """List the names declared in a namespace."""
        return [d.name for d in self.all if _may_be(d.namespace, namespace)]

    def named(self, name: str) -> list[Declared]:
        """Give the declarations of a name in every namespace."""
        return self._by_name.get(name, [])


def _may_be(declared: str, namespace: str) -> bool:
    return declared == namespace if declared else namespace != "aten"


def declare(op: OpSpec, op_file: OpFile) -> Declared:
    """Give the signature an operator is registered with.

    torch_npu's generator (torchnpugen of torch_npu 2.13) gathers several `out` arguments in one
    `Tensor[] out` and makes the results fresh ones.
    """
    schema = op.schema
    if op.section == "custom" and (op.op_api or op.acl_op):
        schema = gather_out(schema)
    namespace = schema.name.namespace or ("aten" if op.section in _ATEN_SECTIONS else "")
    return Declared(op, op_file, namespace, schema.positional, schema.keyword_only, schema.returns)


def finding(
    code: str,
    severity: Severity,
    declared: Declared,
    message: str,
    mark: Mark,
    help: str = "",
    at: Mark | None = None,
) -> Diagnostic:
    """Make a diagnostic about hand-written code; `at` is the place in the schema it contradicts."""
    related = (("the schema", at or declared.op.schema.mark),)
    return Diagnostic(code, severity, message, mark, help, declared.name, related)


def listed(names: Iterable[str]) -> str:
    """`a`, `b` and `c`."""
    quoted = [f"`{name}`" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"
