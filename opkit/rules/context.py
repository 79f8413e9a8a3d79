"""What a rule may look at besides the operator, and small questions several rules ask."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from opkit.model.diagnostic import Diagnostic, Mark, Severity
from opkit.model.operator import OpFile, OpSpec
from opkit.model.schema import Argument, is_tensor_like
from opkit.model.versions import version_key


@dataclass(frozen=True)
class Context:
    """The file an operator is in and the torch version asked for ("2.13"; None is any)."""

    op_file: OpFile
    torch_version: str | None = None

    @cached_property
    def _functional(self) -> set[tuple[str, tuple[str, ...]]]:
        return {
            (_family(op), tuple([a.name for a in op.schema.arguments]))
            for op in self.op_file.operators
            if not op.schema.mutated
        }

    @cached_property
    def inherited(self) -> dict[str, list[OpSpec]]:
        """Functional operators that take over another's `gen_opapi`, in order, by the other's name."""
        found: dict[str, list[OpSpec]] = {}
        for op in self.op_file.operators:
            if op.gen_opapi is not None and op.gen_opapi.structured_inherit and not op.schema.mutated:
                found.setdefault(op.gen_opapi.structured_inherit, []).append(op)
        return found

    def has_functional_sibling(self, op: OpSpec) -> bool:
        """Tell whether torch_npu's generator pairs the operator with a functional one of the file.

        It does so for `foo_`, `foo.out`, `foo` with `foo_functional` or `foo` (torchnpugen of torch_npu 2.13,
        which then registers a Functionalize kernel).
        """
        if not op.schema.mutated:
            return False
        names = tuple(a.name for a in op.schema.arguments if not _is_out(a))
        return bool(op.op_api or op.acl_op) and (_family(op), names) in self._functional

    def is_before(self, version: str) -> bool:
        """Tell whether the torch version asked for is older than this one; False if none was asked for."""
        return self.torch_version is not None and version_key(self.torch_version) < version_key(version)


def _family(op: OpSpec) -> str:
    base = op.schema.name.base
    if base.endswith("_") and not base.endswith("__"):
        base = base[:-1]
    return base[: -len("_functional")] if base.endswith("_functional") else base


def _is_out(argument: Argument) -> bool:
    return argument.kwarg_only and argument.is_mutated


def finding(
    code: str,
    severity: Severity,
    op: OpSpec,
    message: str,
    mark: Mark,
    help: str = "",
    related: tuple[tuple[str, Mark], ...] = (),
) -> Diagnostic:
    """Make a diagnostic about an operator."""
    return Diagnostic(code, severity, message, mark, help, op.name, related)


def has_tensor_argument(op: OpSpec) -> bool:
    """Tell whether any argument is or contains tensors."""
    return any(is_tensor_like(a.type) for a in op.schema.arguments)


def extra(op: OpSpec, key: str) -> object:
    """Give a key of the entry that opkit only passes on."""
    return dict(op.extra).get(key)


def tags(op: OpSpec) -> list[str]:
    """Give the names under `tags:`, which may be a text or a list."""
    written = extra(op, "tags") or ()
    names = written.replace(",", " ").split() if isinstance(written, str) else written
    return [str(name) for name in names] if isinstance(names, (list, tuple)) else []


def listed(names: list[str]) -> str:
    """`a`, `b` and `c`."""
    quoted = [f"`{name}`" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"
