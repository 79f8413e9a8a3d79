"""How an operator's schema lies on an Ascend IR prototype, and what GE cannot take.

The converter is printed from a `Binding`; `check` gives the findings that would otherwise be crashes in
torchair or, worse, a graph that is wrong without one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from opkit.emit.ir_json import attribute_type, find_prototype, tensor_kind
from opkit.model.diagnostic import Diagnostic, Severity, has_errors
from opkit.model.operator import OpFile, OpSpec
from opkit.model.prototype import IrAttribute, IrPrototype, IrTensor
from opkit.model.schema import Argument, ListType, OptionalType, Return, base_of

# The value types an attribute may have for an argument whose own type is the key. A wider IR type is fine (GE
# takes a bool for an int); anything else fails in protobuf or, worse, changes the value.
_FITS = {
    "VT_INT": {"VT_INT", "VT_FLOAT"},
    "VT_FLOAT": {"VT_FLOAT"},
    "VT_BOOL": {"VT_BOOL", "VT_INT"},
    "VT_STRING": {"VT_STRING"},
    "VT_LIST_INT": {"VT_LIST_INT", "VT_LIST_FLOAT"},
    "VT_LIST_FLOAT": {"VT_LIST_FLOAT"},
    "VT_LIST_BOOL": {"VT_LIST_BOOL", "VT_LIST_INT"},
    "VT_LIST_STRING": {"VT_LIST_STRING"},
    "VT_LIST_LIST_INT": {"VT_LIST_LIST_INT"},
    "VT_LIST_LIST_FLOAT": {"VT_LIST_LIST_FLOAT"},
}

# Host values that may also feed an IR input: GE makes them a constant, or takes a symbolic size as it is.
CONSTANT_DTYPES = {
    "VT_INT": "DT_INT64",
    "VT_LIST_INT": "DT_INT64",
    "VT_FLOAT": "DT_FLOAT",
    "VT_LIST_FLOAT": "DT_FLOAT",
    "VT_BOOL": "DT_BOOL",
    "VT_LIST_BOOL": "DT_BOOL",
}


@dataclass(frozen=True)
class Binding:
    """Which argument feeds which part of the prototype, and which output is which result."""

    spec: OpSpec
    prototype: IrPrototype
    # In the prototype's order. None: an optional input the schema does not have.
    inputs: tuple[tuple[IrTensor, Argument | None], ...]
    # Without the optional attributes the schema does not have.
    attributes: tuple[tuple[IrAttribute, Argument], ...]
    # Arguments GE has no place for; they must be None in a graph.
    dropped: tuple[Argument, ...]
    # In the prototype's order: the index of the schema's return, None for an argument written in place.
    results: tuple[tuple[IrTensor, int | None], ...]
    # IR inputs that GE writes although the schema does not say so: the converter hands GE a copy.
    cloned: tuple[str, ...]


class _Binder:
    """Binds one operator, collecting findings as it goes."""

    def __init__(self, spec: OpSpec, prototype: IrPrototype) -> None:
        self.spec = spec
        self.prototype = prototype
        self.findings: list[Diagnostic] = []

    def report(
        self, code: str, severity: Severity, message: str, at: Argument | Return | None, help: str = ""
    ) -> None:
        mark = self.spec.schema.mark if at is None else at.mark
        self.findings.append(Diagnostic(code, severity, message, mark, help, self.spec.name))

    def bind(self) -> Binding | None:
        usable, dropped = self._sort_out_arguments()
        inputs, attributes = self._bind_arguments(usable)
        results, cloned = self._bind_results({t.name: a for t, a in inputs if a is not None})
        if has_errors(self.findings):
            return None
        return Binding(self.spec, self.prototype, inputs, attributes, dropped, results, cloned)

    def check(self) -> None:
        """Collect the findings only. A prototype derived from the schema has the schema's own names."""
        if self.spec.ge is not None and self.spec.ge.prototype is not None:
            self.bind()
            return
        usable, _ = self._sort_out_arguments()
        self._bind_results({a.name: a for a in usable})

    def _sort_out_arguments(self) -> tuple[list[Argument], tuple[Argument, ...]]:
        """Part the arguments GE has a type for from those it must not be given."""
        usable, dropped = [], []
        for argument in self.spec.schema.arguments:
            if argument.name == "meta_outputs":
                self.report(
                    "OPK301",
                    Severity.ERROR,
                    "torchair passes its own `meta_outputs` to every converter",
                    argument,
                    "rename the argument",
                )
            if tensor_kind(argument.type) is None and attribute_type(argument.type) is None:
                self._drop(argument)
                dropped.append(argument)
                continue
            usable.append(argument)
            if argument.is_mutated:
                self._check_mutated(argument)
            if tensor_kind(argument.type) == "dynamic" and _has_optional_elements(argument):
                self.report(
                    "OPK301",
                    Severity.WARNING,
                    f"GE takes no None inside the tensor list {argument.name!r}",
                    argument,
                    "always pass every tensor of the list in a graph, or take Tensor[]",
                )
        return usable, tuple(dropped)

    def _drop(self, argument: Argument) -> None:
        optional = argument.default is not None and argument.default.value is None
        self.report(
            "OPK301",
            Severity.WARNING if optional else Severity.ERROR,
            f"GE has no type for {argument.type}: argument {argument.name!r}"
            + (" must stay None in a graph" if optional else " cannot reach an Ascend IR operator"),
            argument,
            ""
            if optional
            else "pass what the kernel needs of it as int or str, or write a converter: "
            "`ge: {converter: package.module:function}`",
        )

    def _check_mutated(self, argument: Argument) -> None:
        if tensor_kind(argument.type) == "dynamic":
            self.report(
                "OPK302",
                Severity.ERROR,
                f"torchair cannot functionalize the mutated tensor list {argument.name!r}",
                argument,
                "give every written tensor an argument of its own, or leave the operator to npugraph_ex",
            )
        elif argument.is_optional:
            self.report(
                "OPK302",
                Severity.WARNING,
                f"torchair fails when the mutated optional tensor {argument.name!r} is None",
                argument,
                "always pass it in a GE graph, or split the operator in two",
            )

    def _bind_arguments(
        self, arguments: list[Argument]
    ) -> tuple[tuple[tuple[IrTensor, Argument | None], ...], tuple[tuple[IrAttribute, Argument], ...]]:
        """Lay arguments on inputs and attributes: by name first, what is left in order."""
        named = {a.name: a for a in arguments}
        inputs = {t.name: named.pop(t.name, None) for t in self.prototype.inputs}
        attributes = {a.name: named.pop(a.name, None) for a in self.prototype.attributes}
        rest = list(named.values())
        self._bind_in_order("input", inputs, [a for a in rest if tensor_kind(a.type) is not None])
        self._bind_in_order("attribute", attributes, [a for a in rest if tensor_kind(a.type) is None])
        for tensor in self.prototype.inputs:
            self._check_input(tensor, inputs[tensor.name])
        for attribute in self.prototype.attributes:
            self._check_attribute(attribute, attributes[attribute.name])
        bound = tuple((a, argument) for a in self.prototype.attributes if (argument := attributes[a.name]))
        return tuple((t, inputs[t.name]) for t in self.prototype.inputs), bound

    def _bind_in_order(
        self, what: str, slots: dict[str, Argument | None], arguments: Sequence[Argument]
    ) -> None:
        """Fill the free slots in order when there are as many as arguments left, and say so."""
        free = [name for name, argument in slots.items() if argument is None]
        if not arguments:
            return
        if len(free) != len(arguments):
            self._mismatch(
                f"argument{'s' if len(arguments) > 1 else ''} {_names(a.name for a in arguments)} "
                f"cannot be matched with the {what}s {_names(free)} of {self.prototype.op}",
                arguments[0],
            )
            return
        slots.update(zip(free, arguments))
        # torchair's own rule is order too, and two attributes of one type can be swapped without an error.
        severity = Severity.WARNING if what == "attribute" and len(free) > 1 else Severity.NOTE
        pairs = ", ".join(f"{argument.name} as {name}" for name, argument in zip(free, arguments))
        self.report(
            "OPK305",
            severity,
            f"{what}s of {self.prototype.op} are matched by their order: {pairs}",
            arguments[0],
            "use the same names in the schema and the prototype",
        )

    def _mismatch(self, message: str, at: Argument | Return | None) -> None:
        self.report(
            "OPK304",
            Severity.ERROR,
            message,
            at,
            "use the same names in the schema and the prototype, or write a converter: "
            "`ge: {converter: package.module:function}`",
        )

    def _check_input(self, tensor: IrTensor, argument: Argument | None) -> None:
        if argument is None:
            if tensor.kind == "required":
                self._mismatch(
                    f"no argument for the required input {tensor.name!r} of {self.prototype.op}", None
                )
            return
        kind = tensor_kind(argument.type)
        if kind is None:
            if attribute_type(argument.type) not in CONSTANT_DTYPES or tensor.kind == "dynamic":
                self._mismatch(
                    f"{argument.type} {argument.name} cannot feed the {tensor.kind} input {tensor.name!r}",
                    argument,
                )
        elif (kind == "dynamic") != (tensor.kind == "dynamic"):
            self._mismatch(
                f"{argument.type} {argument.name} cannot feed the {tensor.kind} input {tensor.name!r}",
                argument,
            )
        elif kind == "optional" and tensor.kind == "required":
            self._mismatch(f"{argument.name!r} may be None but {tensor.name!r} is a required input", argument)

    def _check_attribute(self, attribute: IrAttribute, argument: Argument | None) -> None:
        if argument is None:
            if attribute.required:
                self._mismatch(
                    f"no argument for the required attribute {attribute.name!r} of {self.prototype.op}", None
                )
            return
        type_ = attribute_type(argument.type)
        if type_ is None:
            self._mismatch(f"{argument.type} {argument.name} cannot be an attribute", argument)
            return
        fits = _FITS[type_]
        if base_of(argument.type).name == "ScalarType":
            fits = {type_, type_.replace("VT_INT", "VT_DATA_TYPE").replace("LIST_INT", "LIST_DATA_TYPE")}
        elif base_of(argument.type).name == "Scalar":
            fits = {type_, type_.replace("FLOAT", "INT")}
        if attribute.type not in fits:
            self._mismatch(
                f"{argument.type} {argument.name} does not fit {attribute.name!r}, which is {attribute.type}",
                argument,
            )

    def _bind_results(
        self, inputs: dict[str, Argument]
    ) -> tuple[tuple[tuple[IrTensor, int | None], ...], tuple[str, ...]]:
        """Lay the prototype's outputs on written arguments and returns."""
        returns = self.spec.schema.returns
        aliased = self._aliased_returns()
        fresh = iter([i for i in range(len(returns)) if i not in aliased.values()])
        results: list[tuple[IrTensor, int | None]] = []
        cloned: list[str] = []
        written: set[str] = set()
        for output in self.prototype.outputs:
            argument = inputs.get(output.name)
            if argument is not None and argument.is_mutated:
                written.add(argument.name)
                results.append((output, aliased.get(argument.name)))
                continue
            if argument is not None:
                cloned.append(output.name)
            index = next(fresh, None)
            if index is None:
                self._mismatch(
                    f"the schema has no result for output {output.name!r} of {self.prototype.op}", None
                )
            else:
                self._check_result(output, returns[index])
                results.append((output, index))
        for index in fresh:
            self._mismatch(f"{self.prototype.op} has no output for result {index + 1}", returns[index])
        for argument in self.spec.schema.mutated:
            if argument.name not in written:
                self._mismatch(
                    f"{self.prototype.op} has no output named like the input {argument.name!r} that it "
                    "writes, so torchair cannot see the update",
                    argument,
                )
        return tuple(results), tuple(cloned)

    def _aliased_returns(self) -> dict[str, int]:
        """Find the returns that are arguments: argument name -> index."""
        owners = {a.alias.before: a.name for a in self.spec.schema.mutated if a.alias is not None}
        found: dict[str, int] = {}
        for index, result in enumerate(self.spec.schema.returns):
            if result.alias is None:
                continue
            owner = owners.get(result.alias.before)
            if owner is None:
                self.report("OPK303", Severity.ERROR, "GE cannot return a view of an argument", result)
                owner = f"<return {index}>"
            found[owner] = index
        return found

    def _check_result(self, output: IrTensor, result: Return) -> None:
        kind = tensor_kind(result.type)
        if kind is None:
            self.report(
                "OPK303",
                Severity.ERROR,
                f"GE cannot return {result.type}",
                result,
                "return a tensor that holds the value",
            )
        elif (kind == "dynamic") != (output.kind == "dynamic"):
            self._mismatch(f"{result.type} cannot be the {output.kind} output {output.name!r}", result)
        elif kind == "dynamic" and self.spec.schema.mutated:
            self.report(
                "OPK303",
                Severity.ERROR,
                "torchair does not tell the converter how many tensors to return when the operator also "
                "writes its arguments",
                result,
                "return single tensors, or do not write an argument",
            )


def _names(names: Iterable[str]) -> str:
    listed = [repr(name) for name in names]
    return ", ".join(listed) or "(none left)"


def _has_optional_elements(argument: Argument) -> bool:
    type_ = argument.type.element if isinstance(argument.type, OptionalType) else argument.type
    return isinstance(type_, ListType) and isinstance(type_.element, OptionalType)


def bind(spec: OpSpec) -> tuple[Binding | None, tuple[Diagnostic, ...]]:
    """Lay the operator's schema on its prototype; if it does not fit, None and at least one error."""
    prototype, diagnostics = find_prototype(spec)
    if prototype is None:
        return None, diagnostics
    binder = _Binder(spec, prototype)
    binding = binder.bind()
    return binding, (*diagnostics, *binder.findings)


def check(spec: OpSpec) -> tuple[Diagnostic, ...]:
    """Find what keeps the operator out of a GE graph; a hand-written converter answers for itself."""
    return tuple(_check(spec)[1])


def _check(spec: OpSpec) -> tuple[IrPrototype | None, list[Diagnostic]]:
    """Give the prototype with the findings; neither for an operator with a hand-written converter."""
    if spec.ge is not None and spec.ge.converter is not None:
        return None, []
    prototype, diagnostics = find_prototype(spec)
    if prototype is None:
        return None, list(diagnostics)
    binder = _Binder(spec, prototype)
    binder.check()
    return prototype, [*diagnostics, *binder.findings]


def check_file(op_file: OpFile) -> tuple[Diagnostic, ...]:
    """Check every operator, and that operators sharing an Ascend IR type agree on its prototype."""
    findings: list[Diagnostic] = []
    seen: dict[str, tuple[OpSpec, IrPrototype]] = {}
    for spec in op_file.operators:
        prototype, found = _check(spec)
        findings += found
        if prototype is None:
            continue
        first, known = seen.setdefault(prototype.op, (spec, prototype))
        if _shape(known) != _shape(prototype):
            findings.append(
                Diagnostic(
                    "OPK306",
                    # An in-place operator and its functional twin may well share an IR operator.
                    Severity.NOTE,
                    f"{first.name} and {spec.name} both become {prototype.op}, with different prototypes",
                    spec.schema.mark,
                    help="name the IR of one in `ge: {ir: ...}`, or give both the same `prototype` json",
                    operator=spec.name,
                    related=(("the other operator", first.schema.mark),),
                )
            )
    return tuple(findings)


def _shape(prototype: IrPrototype) -> tuple[object, ...]:
    """Give what GE tells apart: names and kinds, not dtypes and defaults."""
    return (
        [(t.name, t.kind) for t in prototype.inputs],
        [(t.name, t.kind) for t in prototype.outputs],
        [(a.name, a.type) for a in prototype.attributes],
    )
