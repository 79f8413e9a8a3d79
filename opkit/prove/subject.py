"""One operator with one case, as a stage sees it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from opkit.model.operator import Case, EntryPoint, OpFile, OpSpec
from opkit.prove.internal import refuse_own
from opkit.prove.values import Contents, Inputs, Path, inputs
from opkit.prove.watch import Watch

Function = Callable[..., Any]


class NotApplicable(Exception):
    """A stage has nothing to judge about an operator; the text says why, and goes into the report's notes."""


@dataclass(frozen=True)
class Setting:
    """What all operators of a worker share."""

    mode: str
    # "cann" or "stand-in".
    runtime: str
    watch: Watch
    # What cases compile in place of the bare operator.
    functions: Mapping[EntryPoint, Function] = field(default_factory=dict)
    # All operators of the worker, in the order of their files.
    others: tuple[Declared, ...] = ()
    # What varied cases are drawn with.
    seed: int = 0
    # Modules and files of the user that define operators.
    imports: tuple[str, ...] = ()
    # Where stage cache leaves what a second process takes; private to this user.
    artifacts: str = ""
    # The stages that were asked for by name.
    asked: tuple[str, ...] = ()


@dataclass(frozen=True)
class Declared:
    """An operator as declared and as registered, before a case is chosen."""

    op_file: OpFile
    spec: OpSpec
    # "ns::name.overload", the dispatcher's name.
    qualified: str
    # "library", "custom-op", "package" or "import".
    style: str
    # Computes the operator on CPU tensors; None when the YAML names none.
    reference: Function | None
    # The converter's module or whatever else must stay alive as long as the registrations.
    keep: tuple[object, ...] = ()
    # Why the operator could not be registered; empty when it was.
    problem: str = ""

    @property
    def identity(self) -> tuple[str, str]:
        """The file and the name, as requests have them."""
        return self.op_file.path, self.spec.name


@dataclass
class Subject:
    """An operator and one case, with what earlier stages leave for later ones."""

    setting: Setting
    declared: Declared
    case: Case
    # torch._ops.OpOverload; None until the schema stage found it.
    operator: Any = None
    # A function of the YAML's `call:` to compile in place of the bare operator.
    call: Function | None = None
    # Kernels that the operator launches and that the stand-in cannot compute: its values mean nothing then.
    uncomputed: list[str] = field(default_factory=list)
    # Whether made values are negative too; the host stage finds kernels that refuse those.
    signed: bool = True
    # Whether the operator draws from the NPU's generator, so that no two calls give the same.
    random: bool = False
    # The smallest case on which a stage saw a difference, for the script that reproduces it.
    failing: Case | None = None
    # What ran and what it gave, for the values stage: (inputs before, results, inputs after), all on the CPU.
    runs: list[Run] = field(default_factory=list)

    @property
    def spec(self) -> OpSpec:
        """The operator's declaration."""
        return self.declared.spec

    @property
    def name(self) -> str:
        """The dispatcher's name."""
        return self.declared.qualified

    def inputs(self, size: int = 0, seed: int = 0, dtype: int = 0, scale: float = 1.0) -> Inputs:
        """Make the case's arguments on the CPU; another seed gives other values."""
        contents = Contents(seed, self.signed, scale)
        return inputs(self.spec.schema, self.case, size, contents, dtype)

    def model(self) -> Function:
        """Give the function that is compiled: the operator itself, or the case's `call:`."""
        if self.call is not None:
            return self.call
        operator = self.operator

        def model(*args: Any, **kwargs: Any) -> Any:
            return operator(*args, **kwargs)

        return model

    def arguments(self, given: Inputs) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Give what the model is called with: a `call:` function takes everything by keyword."""
        return ((), dict(given.values)) if self.call is not None else given.call()


@dataclass(frozen=True)
class Run:
    """One call of the compiled function, or of the eager one; everything on the CPU."""

    what: str
    before: Inputs
    results: list[Any]
    after: Inputs

    @property
    def written(self) -> list[Path]:
        """List the tensors that changed."""
        from opkit.prove.compare import same_bits

        pairs = zip(self.before.tensors(), self.after.tensors())
        return [path for (path, old), (_, new) in pairs if not same_bits(old, new)]


def run_eagerly(subject: Subject, before: Inputs) -> Run:
    """Call on the NPU what a graph stage compiles, without a graph."""
    given = on_npu(before.map(lambda tensor: tensor.clone()))
    args, kwargs = subject.arguments(given)
    results = results_of(subject.model()(*args, **kwargs))
    return Run("eager call", before, [to_cpu(value) for value in results], on_cpu(given))


def to_cpu(value: Any) -> Any:
    """Copy a result to the CPU."""
    import torch

    if isinstance(value, (list, tuple)):
        return [to_cpu(item) for item in value]
    return value.detach().to("cpu", copy=True) if isinstance(value, torch.Tensor) else value


def on_npu(given: Inputs) -> Inputs:
    """Copy arguments to the NPU, but for those that the case has on the CPU."""
    moved = given.map(lambda tensor: tensor.to("npu"))
    return replace(moved, values={**moved.values, **{name: given.values[name] for name in given.host}})


def on_cpu(given: Inputs) -> Inputs:
    """Copy arguments to the CPU; the copies stay as they are when the originals change."""
    return given.map(lambda tensor: tensor.detach().to("cpu", copy=True))


def results_of(value: Any) -> list[Any]:
    """List what an operator returned: nothing for None, the items of a tuple, else the one value."""
    if value is None:
        return []
    return list(value) if isinstance(value, tuple) else [value]


def flat_tensors(values: list[Any]) -> list[Any]:
    """List the tensors among results, those inside lists included."""
    import torch

    found = []
    for value in values:
        for item in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(item, torch.Tensor):
                found.append(item)
    return found


def place(path: tuple[str, int | None]) -> str:
    """Print where a tensor stands in a call: `z[1]`."""
    name, index = path
    return name if index is None else f"{name}[{index}]"


# Where Dynamo says which line made a guard: "  # return operator(..)  # .../prove/subject.py:81 in model".
_OWN_LINE = re.compile(r"\s*#[^#\n]*?(?:#\s*)?\S*opkit[/\\]prove[/\\]\S+\.py:\d+( in \w+)?\)?")


def without_own_lines(text: str) -> str:
    """Leave out the places in opkit itself: they say nothing about the user's operator."""
    return _OWN_LINE.sub("", text)


def first_line(error: BaseException) -> str:
    """Give the first line of an exception that says something, with its type.

    Raises InternalError if the mistake is opkit's own.
    """
    refuse_own(error)
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
