"""Which rule gives each result of an operator: `meta`, `gen_opapi` (also inherited), or the schema itself."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Union

from opkit.model.diagnostic import Diagnostic, Mark
from opkit.model.expression import Conditional, Expression, Literal, Name
from opkit.model.operator import EntryPoint, GenOpApi, OpFile, OpSpec, OutputRule, Requirement
from opkit.model.schema import Argument, BaseType, OptionalType, Return, is_tensor_list
from opkit.shape.errors import NO_RULE, WRONG_COUNT, RuleError
from opkit.shape.narrowing import assume
from opkit.shape.printing import printed
from opkit.shape.scope import Environment, Scope


@dataclass(frozen=True)
class Fresh:
    """A new contiguous tensor."""

    size: Expression
    dtype: Expression
    # Where the schema allows None: the result is None unless this condition has the value of `when`.
    condition: Expression | None = None
    when: bool = True


@dataclass(frozen=True)
class Aliased:
    """The schema says the result is this argument."""

    argument: str


@dataclass(frozen=True)
class Returned:
    """An argument or an earlier result itself, although the schema does not say so."""

    # An argument's name, also with an index (`out[0]`), or the position of a result.
    what: str | int
    # Where given: it is that one where the condition holds, else the new tensor.
    condition: Expression | None = None
    otherwise: Fresh | None = None


@dataclass(frozen=True)
class Valued:
    """A value that is no tensor."""

    value: Expression


@dataclass(frozen=True)
class Unresolved:
    """No rule, because of the reason."""

    reason: str


Output = Union[Fresh, Aliased, Returned, Valued, Unresolved]
Bindings = tuple[tuple[str, Expression], ...]


@dataclass(frozen=True)
class Rule:
    """Everything a Meta kernel needs to know about one operator."""

    spec: OpSpec
    # Local names, in the order they are computed; only those that something below uses.
    bindings: Bindings
    require: tuple[Requirement, ...]
    # One per return of the schema, or per item where it returns one list; empty when `python` does the work.
    outputs: tuple[Output, ...]
    python: EntryPoint | None
    # Why the rule cannot be used; empty for a usable one.
    diagnostics: tuple[Diagnostic, ...]

    @property
    def usable(self) -> bool:
        """Tell whether a Meta kernel can be made from this rule."""
        return not self.diagnostics


def resolve(spec: OpSpec, op_file: OpFile, environment: Environment | None = None) -> Rule:
    """Find the rule of every result, and check that all of it can be printed.

    `meta` wins over `gen_opapi`; results the schema aliases to a written argument need neither. Never raises
    for a user's mistake: what is wrong, or missing, is in `Rule.diagnostics`.
    """
    if spec.meta is not None and spec.meta.python is not None:
        return Rule(spec, (), (), (), spec.meta.python, ())
    require = spec.meta.require if spec.meta is not None else ()
    try:
        rules, bindings = _declared(spec, op_file)
        outputs = _outputs(spec, rules)
    except RuleError as error:
        return Rule(spec, (), require, (), None, (_about(error.diagnostic, spec),))
    rule = Rule(spec, _used(bindings, outputs, require), require, outputs, None, ())
    return dataclasses.replace(rule, diagnostics=tuple(_problems(rule, environment)))


def _declared(spec: OpSpec, op_file: OpFile) -> tuple[tuple[OutputRule, ...], Bindings]:
    """The written output rules and the local names they may use."""
    let = spec.meta.let if spec.meta is not None else ()
    if spec.meta is not None and spec.meta.outputs:
        return spec.meta.outputs, let
    if all(_aliased(spec, r) for r in spec.schema.returns):
        return (), let
    gen_opapi = _inherited(spec, op_file)
    if gen_opapi is None:
        return (), let
    return gen_opapi.outputs, (*gen_opapi.new_params, *let)


def _inherited(spec: OpSpec, op_file: OpFile) -> GenOpApi | None:
    """Follow `structured_inherit` to the entry that has the rule."""
    seen = [spec.name]
    current = spec.gen_opapi
    while current is not None and current.structured_inherit is not None and not current.outputs:
        name = current.structured_inherit
        parent = op_file.operator(name)
        if parent is None:
            message = f"{spec.name} inherits its rule from {name}, which this file does not have"
            raise RuleError(NO_RULE, message, current.mark)
        if parent.name in seen:
            chain = " -> ".join([*seen, parent.name])
            raise RuleError(NO_RULE, f"structured_inherit goes in a circle: {chain}", current.mark)
        seen.append(parent.name)
        current = parent.gen_opapi
    return current


def _outputs(spec: OpSpec, rules: tuple[OutputRule, ...]) -> tuple[Output, ...]:
    """Bind rules to returns by position, as op-plugin does; aliased returns may be left out."""
    returns = spec.schema.returns
    if rules and len(returns) == 1 and is_tensor_list(returns[0].type):
        return tuple(_described(spec, rule, rules) for rule in rules)
    fresh = [r for r in returns if not _aliased(spec, r)]
    if rules and len(rules) == len(returns):
        by_return = dict(zip(map(id, returns), rules))
    elif not rules or len(rules) == len(fresh):
        by_return = dict(zip(map(id, fresh), rules))
    else:
        message = f"{spec.name} returns {len(fresh)} new tensor(s), but its rule gives {len(rules)} result(s)"
        raise RuleError(
            WRONG_COUNT, message, rules[0].mark, "results are matched with the returns by position"
        )
    return tuple(_output(spec, r, by_return.get(id(r)), rules) for r in returns)


def _output(spec: OpSpec, return_: Return, rule: OutputRule | None, rules: tuple[OutputRule, ...]) -> Output:
    argument = _aliased(spec, return_)
    if argument is not None:
        return Aliased(argument.name)
    if return_.alias is not None:
        return Unresolved("it is a view of an argument, which a size and a dtype cannot describe")
    is_tensor = return_.type in (BaseType("Tensor"), OptionalType(BaseType("Tensor")))
    if not is_tensor and (rule is None or rule.value is None):
        return Unresolved(f"it is no tensor but {return_.type}: write {{value: ...}}")
    if rule is None:
        return Unresolved("neither `meta` nor `gen_opapi` describes it")
    if rule.value is not None:
        return Unresolved("it is a tensor, which has no `value`") if is_tensor else Valued(rule.value)
    return _described(spec, rule, rules)


def _described(spec: OpSpec, rule: OutputRule, rules: tuple[OutputRule, ...]) -> Output:
    """What a written rule says about one tensor."""
    whole: str | int = ""
    if rule.alias is not None:
        whole = rule.alias
        if spec.schema.argument(rule.alias.partition("[")[0]) is None:
            whole = [r.name for r in rules].index(rule.alias)
        if rule.when is None:
            return Returned(whole)
    if rule.size is None or rule.dtype is None:
        return Unresolved(f"the rule of `{rule.name}` gives no {'size' if rule.size is None else 'dtype'}")
    fresh = _fresh(rule.size, rule.dtype)
    return fresh if rule.alias is None else Returned(whole, rule.when, fresh)


def _fresh(size: Expression, dtype: Expression) -> Fresh:
    """Read `size: x.shape if present(x) else None`: None, which C++ calls an undefined tensor."""
    if not isinstance(size, Conditional):
        return Fresh(size, dtype)
    for when, kept, dropped in ((True, size.then, size.otherwise), (False, size.otherwise, size.then)):
        if isinstance(dropped, Literal) and dropped.value is None:
            if isinstance(dtype, Conditional) and dtype.condition == size.condition:
                dtype = dtype.then if when else dtype.otherwise
            return Fresh(kept, dtype, size.condition, when)
    return Fresh(size, dtype)


def _aliased(spec: OpSpec, return_: Return) -> Argument | None:
    """The written argument that a return is, if the schema says so."""
    if return_.alias is None or not return_.alias.is_write:
        return None
    letters = set(return_.alias.before)
    written = (a for a in spec.schema.mutated if a.alias is not None)
    return next((a for a in written if a.alias is not None and letters & set(a.alias.before)), None)


def names_in(node: object) -> Iterator[str]:
    """Every name an expression mentions."""
    if isinstance(node, Name):
        yield node.name
    elif isinstance(node, tuple):
        for item in node:
            yield from names_in(item)
    elif dataclasses.is_dataclass(node) and not isinstance(node, Mark):
        for entry in dataclasses.fields(node):
            yield from names_in(getattr(node, entry.name))


def _used(bindings: Bindings, outputs: tuple[Output, ...], require: tuple[Requirement, ...]) -> Bindings:
    """Keep the bindings that a result or a requirement needs; op-plugin's serve mostly the kernel call."""
    needed = set(names_in((outputs, tuple(r.condition for r in require))))
    for requirement in require:
        needed.update(name for name, _ in bindings if f"{{{name}" in requirement.message)
    kept: list[tuple[str, Expression]] = []
    for name, expression in reversed(bindings):
        if name in needed:
            kept.append((name, expression))
            needed.update(names_in(expression))
    return tuple(reversed(kept))


def _problems(rule: Rule, environment: Environment | None) -> Iterator[Diagnostic]:
    """Print everything once and report what cannot be printed."""
    spec = rule.spec
    scope = Scope.of_arguments(spec.schema.arguments, environment=environment)
    parts: list[Fresh] = []
    conditions: list[Expression] = []
    for name, expression in rule.bindings:
        try:
            scope = scope.bind(name, printed(expression, scope).kind, name)
        except RuleError as error:
            yield _about(error.diagnostic, spec)
            scope = scope.bind(name, "value", name)
    for number, output in enumerate(rule.outputs):
        if isinstance(output, Unresolved):
            which = (
                f"result {number} of {spec.name}" if len(rule.outputs) > 1 else f"the result of {spec.name}"
            )
            yield _about(
                RuleError(NO_RULE, f"no rule for {which}: {output.reason}", spec.mark, _ADD_RULE).diagnostic,
                spec,
            )
        elif isinstance(output, Fresh):
            parts.append(output)
        elif isinstance(output, Valued):
            conditions.append(output.value)
        elif isinstance(output, Returned) and output.condition is not None and output.otherwise is not None:
            conditions.append(output.condition)
            parts.append(output.otherwise)
    for requirement in rule.require:
        yield from _printable(requirement.condition, scope, "value", spec)
        scope = assume(scope, requirement.condition)
    for condition in conditions:
        yield from _printable(condition, scope, "value", spec)
    for part in parts:
        inner = scope
        if part.condition is not None:
            yield from _printable(part.condition, scope, "value", spec)
            inner = assume(scope, part.condition, part.when)
        yield from _printable(part.size, inner, "shape", spec)
        yield from _printable(part.dtype, inner, "dtype", spec)


def _printable(expression: Expression, scope: Scope, want: str, spec: OpSpec) -> Iterator[Diagnostic]:
    try:
        printed(expression, scope, want)
    except RuleError as error:
        yield _about(error.diagnostic, spec)


_ADD_RULE = 'add `meta: {out: {size: ..., dtype: ...}}`, or `meta: {python: "pkg.module:function"}`'


def _about(diagnostic: Diagnostic, spec: OpSpec) -> Diagnostic:
    return dataclasses.replace(diagnostic, operator=spec.name)
