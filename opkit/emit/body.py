"""The body of a Meta kernel: bindings, requirements, and the results it makes."""

from __future__ import annotations

import string
import textwrap
from collections.abc import Collection
from dataclasses import dataclass, replace

from opkit.emit.header import LINE_LENGTH, call, quoted
from opkit.emit.signature import Signature
from opkit.model.operator import OpSpec, Requirement
from opkit.model.schema import BaseType, OperatorSchema, base_of, is_tensor_list
from opkit.shape.errors import UNKNOWN_NAME, RuleError, nearest
from opkit.shape.narrowing import assume
from opkit.shape.printing import printed
from opkit.shape.rule import Aliased, Fresh, Returned, Rule, Valued
from opkit.shape.scope import Environment, Scope
from opkit.shape.value import NOT, OR

INDENT = 4


@dataclass(frozen=True)
class Allocator:
    """How new tensors get their device."""

    # Lines that find the device, if it takes any.
    setup: tuple[str, ...]
    # `x` in `x.new_empty(...)`; empty to use torch.empty(..., device=device).
    like: str
    device: str = ""
    # The dtype `like.new_empty` has by itself.
    dtype: str = ""

    def tensor(self, size: str, dtype: str, prefix: str = "", suffix: str = "", indent: int = 0) -> str:
        """Print the call that makes a tensor."""
        arguments = [size] if dtype == self.dtype else [size, f"dtype={dtype}"]
        if self.like:
            return call(f"{self.like}.new_empty", arguments, indent, prefix, suffix)
        return call("torch.empty", [*arguments, f"device={self.device}"], indent, prefix, suffix)


def allocator(schema: OperatorSchema, signature: Signature) -> Allocator:
    """Take the device from the first tensor there is.

    Order: a `Tensor`, the first of a `Tensor[]`, the first optional tensor given, a `Device` argument, and
    last the NPU: an operator without any of these makes its results there.
    """
    named = [(a, signature.spelling[a.name]) for a in schema.arguments]
    for argument, name in named:
        if argument.is_tensor:
            return Allocator((), name, dtype=f"{name}.dtype")
    for argument, name in named:
        if str(argument.type).startswith("Tensor["):
            return Allocator((), f"{name}[0]", dtype=f"{name}[0].dtype")
    fallback = "DEVICE"
    for argument, name in named:
        if base_of(argument.type) == BaseType("Device"):
            fallback = f"{name} or DEVICE" if argument.is_optional else name
    optional = [name if str(a.type) == "Tensor?" else f"*({name} or ())"
                for a, name in named if base_of(a.type).name == "Tensor"]  # fmt: skip
    if not optional:
        return Allocator((), "", fallback)
    local = _unused("device", signature)
    given = f"({', '.join(optional)}{',' if len(optional) == 1 else ''})"
    line = f"{local} = next((t.device for t in {given} if t is not None), {fallback})"
    return Allocator((line,), "", local)


def needs_fake(spec: OpSpec) -> bool:
    """Tell whether fake tensors cannot reach the operator by a Meta kernel.

    That is so where a call may carry no tensor at all, since then no dispatch key leads to one; and where the
    tensors may lie on different devices (`device_check: NoCheck`), which FakeTensorMode refuses on that way.
    """
    mixed = dict(spec.extra).get("device_check") == "NoCheck"
    return mixed or not any(a.is_tensor for a in spec.schema.arguments)


def kernel_body(
    rule: Rule, signature: Signature, environment: Environment | None, taken: Collection[str]
) -> str:
    """Print the body of the Meta kernel; raises RuleError where the rule cannot be printed."""
    schema = rule.spec.schema
    scope = Scope.of_arguments(schema.arguments, signature.spelling, environment)
    lines = list(signature.prologue)
    for name, expression in rule.bindings:
        value = printed(expression, scope)
        python = f"{name}_" if name in taken else name
        lines.append(f"{python} = {value.text}")
        scope = scope.bind(name, value.kind, python)
    for requirement in rule.require:
        if printed(requirement.condition, scope).text != "True":
            lines.append(_requirement(requirement, scope))
        scope = assume(scope, requirement.condition)
    lines += _results(rule, signature, scope)
    return "\n".join(_indented(line) for line in lines)


def _indented(line: str) -> str:
    return "\n".join(" " * INDENT + part for part in line.split("\n"))


def _requirement(requirement: Requirement, scope: Scope) -> str:
    condition = printed(requirement.condition, scope)
    test = condition.text if condition.base == "bool" else f"{condition.at(OR + 1)} != 0"
    text = call("torch._check", (test, f"lambda: {_message(requirement, scope)}"), INDENT)
    return textwrap.dedent(text)


def _message(requirement: Requirement, scope: Scope) -> str:
    """Print the message as an f-string; its braces may hold names and attributes of them."""
    try:
        parts = list(string.Formatter().parse(requirement.message))
    except ValueError as error:
        raise RuleError(UNKNOWN_NAME, f"the message of `require` has a bad brace: {error}", requirement.mark,
                        "write {{ for a brace") from None  # fmt: skip
    if all(field is None for _, field, _, _ in parts):
        return quoted("".join(literal for literal, _, _, _ in parts))
    text = ""
    for literal, field, spec, conversion in parts:
        text += literal.replace("{", "{{").replace("}", "}}")
        if field is not None:
            suffix = (f"!{conversion}" if conversion else "") + (f":{spec}" if spec else "")
            text += f"{{{_field(field, requirement, scope)}{suffix}}}"
    return f"f{quoted(text)}"


def _field(field: str, requirement: Requirement, scope: Scope) -> str:
    first, dot, rest = field.partition(".")
    variable = scope.variables.get(first)
    if variable is None or not all(part.isidentifier() for part in rest.split(".") if dot):
        raise RuleError(UNKNOWN_NAME, f"the message of `require` mentions `{field}`, which the rule lacks",
                        requirement.mark, nearest(first, scope.variables))  # fmt: skip
    return f"{variable.python}{dot}{rest}"


@dataclass(frozen=True)
class _New:
    """A result to make: the printed size and dtype, and what stands before and after the call."""

    size: str
    dtype: str
    suffix: str = ""
    before: str = ""

    def print(self, make: Allocator, prefix: str = "", end: str = "", indent: int = 0) -> str:
        return make.tensor(self.size, self.dtype, prefix + self.before, self.suffix + end, indent)


def _new(output: Fresh, scope: Scope) -> _New:
    suffix = ""
    if output.condition is not None:
        condition = printed(output.condition, scope)
        suffix = f" if {condition.at(OR)} else None"
        if not output.when:
            suffix = f" if not {condition.at(NOT)} else None"
        scope = assume(scope, output.condition, output.when)
    return _New(printed(output.size, scope, "shape").text, printed(output.dtype, scope, "dtype").text, suffix)


def _results(rule: Rule, signature: Signature, scope: Scope) -> list[str]:
    """The lines that make and return the results."""
    make = allocator(rule.spec.schema, signature)
    items: list[_New | str] = []
    setup: list[str] = []
    for output in rule.outputs:
        if isinstance(output, Fresh):
            items.append(_new(output, scope))
        elif isinstance(output, Aliased):
            items.append(signature.spelling[output.argument])
        elif isinstance(output, Returned):
            items.append(_returned(output, items, setup, make, signature, scope))
        elif isinstance(output, Valued):
            items.append(printed(output.value, scope).text)
    if any(isinstance(item, _New) for item in items) or setup:
        setup = [*make.setup, *setup]
    is_list = len(rule.spec.schema.returns) == 1 and is_tensor_list(rule.spec.schema.returns[0].type)
    opening, closing = "[]" if is_list else "()"
    plain = [item if isinstance(item, str) else item.print(make) for item in items]
    line = f"return {', '.join(plain)}" if plain else "return None"
    if is_list:
        line = f"return [{', '.join(plain)}]"
    if len(line) + INDENT <= LINE_LENGTH and "\n" not in line:
        return [*setup, line]
    # What is printed here is indented later on; lines are measured as they will stand.
    if len(items) == 1 and isinstance(items[0], _New) and not is_list:
        return [*setup, textwrap.dedent(items[0].print(make, "return ", indent=INDENT))]
    listed = [f"{i}," if isinstance(i, str) else i.print(make, end=",", indent=2 * INDENT) for i in items]
    body = [textwrap.indent(textwrap.dedent(item), " " * INDENT) for item in listed]
    return [*setup, "\n".join([f"return {opening}", *body, closing])]


def _returned(
    output: Returned,
    items: list[_New | str],
    setup: list[str],
    make: Allocator,
    signature: Signature,
    scope: Scope,
) -> _New | str:
    """An argument, or an earlier result, which then gets a name in `setup`."""
    if isinstance(output.what, str):
        argument, bracket, index = output.what.partition("[")
        name = f"{signature.spelling[argument]}{bracket}{index}"
    else:
        item = items[output.what]
        name = item if isinstance(item, str) else _unused(f"result{output.what}", signature)
        if not isinstance(item, str):
            setup.append(textwrap.dedent(item.print(make, f"{name} = ", indent=INDENT)))
            items[output.what] = name
    if output.condition is None or output.otherwise is None:
        return name
    condition = printed(output.condition, scope)
    if condition.text in ("True", "False"):
        return name if condition.text == "True" else _new(output.otherwise, scope)
    new = _new(output.otherwise, scope)
    return replace(new, before=f"{name} if {condition.at(OR)} else ")


def _unused(name: str, signature: Signature) -> str:
    while name in signature.spelling.values():
        name += "_"
    return name
