"""What the names in a rule stand for: an operator's arguments, `let` bindings, the environment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from opkit.model.schema import Argument, BaseType, ListType, OptionalType, Type

# Schema type -> kind of value in a rule.
_KINDS = {"Tensor": "tensor", "int": "int", "SymInt": "int", "float": "float", "bool": "bool", "str": "str",
          "ScalarType": "dtype", "Scalar": "value"}  # fmt: skip


def kind_of(type_: Type) -> str:
    """Name what a value of this schema type is in a rule; optional ones end in `?`."""
    if isinstance(type_, OptionalType):
        return f"{kind_of(type_.element)}?"
    if isinstance(type_, ListType):
        element = kind_of(type_.element)
        return {"tensor": "tensors", "tensor?": "optional_tensors", "int": "shape"}.get(element, "list")
    return _KINDS.get(type_.name, "value") if isinstance(type_, BaseType) else "value"


@dataclass(frozen=True)
class Variable:
    """A name of the rule: its kind and how Python spells it."""

    kind: str
    python: str


@dataclass(frozen=True)
class Environment:
    """What a rule may depend on besides its arguments. Never read from the machine; None means not given."""

    torch_version: str | None = None
    cann_version: str | None = None
    soc_version: str | None = None


@dataclass(frozen=True)
class Scope:
    """The names a rule can use."""

    variables: Mapping[str, Variable]
    environment: Environment = field(default_factory=Environment)

    @staticmethod
    def of_arguments(
        arguments: Iterable[Argument],
        spelling: Mapping[str, str] | None = None,
        environment: Environment | None = None,
    ) -> Scope:
        """Make the scope of an operator; `spelling` gives the Python names of renamed arguments."""
        spelling = spelling or {}
        variables = {a.name: Variable(kind_of(a.type), spelling.get(a.name, a.name)) for a in arguments}
        # torch_npu registers `self` as `input`; rules written against either name mean the same argument.
        if "self" in variables and "input" not in variables:
            variables["input"] = variables["self"]
        return Scope(variables, environment or Environment())

    def bind(self, name: str, kind: str, python: str) -> Scope:
        """Add a binding."""
        return replace(self, variables={**self.variables, name: Variable(kind, python)})
