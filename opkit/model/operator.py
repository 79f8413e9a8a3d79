"""One operator as declared in a YAML file: its schema and everything opkit knows about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Union

from opkit.model.contract import Contract
from opkit.model.diagnostic import Mark
from opkit.model.expression import Expression
from opkit.model.prototype import IrPrototype
from opkit.model.schema import OperatorSchema


@dataclass(frozen=True)
class EntryPoint:
    """`pkg.module:function`, or `path/to/file.py:function` relative to the YAML file."""

    module: str
    function: str
    mark: Mark

    def __str__(self) -> str:
        return f"{self.module}:{self.function}"


@dataclass(frozen=True)
class OutputRule:
    """Shape and dtype of one result; a bare tensor name means its shape in `size`, its dtype in `dtype`."""

    # The key in the YAML; results are bound to the schema's returns by position, not by this name.
    name: str
    # None where the rule leaves it to the `out` argument of an out-variant.
    size: Expression | None
    dtype: Expression | None
    mark: Mark
    # The argument or earlier result that this result is, although the schema does not say so.
    alias: str | None = None
    # The result is `alias` where this holds, else a new tensor; None where it always is.
    when: Expression | None = None
    # The result itself, where the schema says that it is no tensor.
    value: Expression | None = None


@dataclass(frozen=True)
class GenOpApi:
    """op-plugin's own rule: how the structured aclnn kernel makes its outputs and what it launches."""

    outputs: tuple[OutputRule, ...]
    # The aclnn name, then the explicit argument list if one is written.
    exec: tuple[str, ...]
    new_params: tuple[tuple[str, Expression], ...]
    structured_inherit: str | None
    mark: Mark


@dataclass(frozen=True)
class Requirement:
    """A check of the `meta` rule: when the condition is false the Meta kernel raises with the message."""

    condition: Expression
    # May name arguments and bindings in braces: "must be even, got {n}".
    message: str
    mark: Mark


@dataclass(frozen=True)
class MetaRule:
    """opkit's `meta:` key: the rule where `gen_opapi` is absent or cannot say it."""

    let: tuple[tuple[str, Expression], ...]
    require: tuple[Requirement, ...]
    outputs: tuple[OutputRule, ...]
    # The way out for what no expression can say; excludes the other fields.
    python: EntryPoint | None
    mark: Mark


@dataclass(frozen=True)
class GeMapping:
    """opkit's `ge:` key: where the Ascend IR differs from the default mapping."""

    # Ascend IR operator type; None means the CamelCase of the operator's name.
    ir: str | None
    # An msOpGen json holding the prototype, relative to the YAML file; None means derived from the schema.
    prototype: str | None
    # A hand-written converter; None means opkit's generated one.
    converter: EntryPoint | None
    mark: Mark
    # What the json of `prototype` holds, as read; empty where there is none.
    prototypes: tuple[IrPrototype, ...] = ()


@dataclass(frozen=True)
class TensorSpec:
    """A tensor input of a case: `f16[B, 8]`. A dim is a number or a name bound by the case."""

    # torch's name without the prefix ("float16"), or a name bound by the case.
    dtype: str
    dims: tuple[int | str, ...]
    # The contents, row by row; empty where any will do.
    values: tuple[float, ...] = ()
    # The tensor is on the CPU although the operator runs on the NPU.
    on_host: bool = False
    # It is stored in CANN's format FRACTAL_NZ; only the host judge makes such tensors.
    nz: bool = False

    def __str__(self) -> str:
        text = f"{self.dtype}[{', '.join(str(d) for d in self.dims)}]"
        values = f" = {', '.join(f'{value:g}' for value in self.values)}" if self.values else ""
        return f"{'cpu ' if self.on_host else 'nz ' if self.nz else ''}{text}{values}"


# What a case gives for an argument: a tensor, a host value, or a list of either.
CaseValue = Union[TensorSpec, None, bool, int, float, str, "tuple[CaseValue, ...]"]


@dataclass(frozen=True)
class Case:
    """One set of inputs for the proof."""

    # Unique in its operator; shown in reports.
    name: str
    # Argument name -> value, in the schema's order; arguments left out take the schema's default.
    inputs: tuple[tuple[str, CaseValue], ...]
    # Named dims, each with the sizes it takes; the first is the one used for a static graph.
    dims: tuple[tuple[str, tuple[int, ...]], ...]
    # A function to compile in place of the bare operator call; it receives the inputs by keyword.
    call: EntryPoint | None = None
    # None for a case opkit made from the schema.
    mark: Mark | None = None
    # Named dtypes, each with the dtypes it takes; the first is the one used where only one is.
    dtypes: tuple[tuple[str, tuple[str, ...]], ...] = ()
    # The operator refuses these inputs: its Meta kernel and its eager kernel both raise.
    raises: bool = False


@dataclass(frozen=True)
class OpSpec:
    """One entry of a YAML file."""

    schema: OperatorSchema
    # "custom", "official", "symint", "quant" or "autograd".
    section: str
    # torch versions ("v2.1") that have the kernel, resolved; empty when the key is absent.
    op_api: tuple[str, ...]
    acl_op: tuple[str, ...]
    gen_opapi: GenOpApi | None
    meta: MetaRule | None
    ge: GeMapping | None
    cases: tuple[Case, ...]
    # Computes the operator on CPU tensors: the values a proof compares with.
    reference: EntryPoint | None
    # A hand-written eager kernel for the proof to judge; None means opkit binds one that records a launch.
    kernel: EntryPoint | None
    # Every key of the entry as read, for keys opkit only passes on (tags, dispatch, exposed, ...).
    extra: tuple[tuple[str, object], ...]
    # Kept alive in a graph although nothing reads its result and it writes nothing torch can see.
    side_effect: bool
    mark: Mark
    # What it promises about graphs; None where the entry does not say.
    contract: Contract | None = None

    @cached_property
    def name(self) -> str:
        """`base` or `base.overload`."""
        return str(self.schema.name)

    @property
    def corrects(self) -> str:
        """What is wrong with the Meta kernel that the operator's package has; empty where nothing is said."""
        return str(dict(self.extra).get("corrects") or "")


@dataclass(frozen=True)
class Suppression:
    """A comment `# opkit: ignore[OPK101]` of an entry: findings of these codes on its lines are not shown."""

    codes: tuple[str, ...]
    first_line: int
    last_line: int


@dataclass(frozen=True)
class OpFile:
    """A whole YAML file."""

    path: str
    operators: tuple[OpSpec, ...]
    all_versions: tuple[str, ...] = field(default=())
    suppressions: tuple[Suppression, ...] = field(default=())

    def operator(self, name: str) -> OpSpec | None:
        """Find an operator by `base` or `base.overload`."""
        return self._by_name.get(name)

    @cached_property
    def _by_name(self) -> dict[str, OpSpec]:
        # The first of each name: an operator may be declared once per range of versions.
        return {op.name: op for op in reversed(self.operators)}
