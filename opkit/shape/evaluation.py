"""Rules applied to real arguments: tensors of any kind (fake and meta ones too), ints and SymInts.

What is evaluated is the Python that `opkit.shape.printing` prints, so a rule has one meaning only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from opkit.model.expression import Expression
from opkit.shape.narrowing import assume
from opkit.shape.printing import printed
from opkit.shape.rule import Aliased, Fresh, Returned, Rule, Valued
from opkit.shape.scope import Environment, Scope
from opkit.shape.source import library_functions, library_names


class RequirementFailed(Exception):
    """A `require` of the rule does not hold for these arguments."""


@dataclass(frozen=True)
class Result:
    """What a rule says about one result: shape and dtype of a new tensor, the argument it is, or None."""

    shape: tuple[Any, ...] | None
    dtype: Any
    argument: str | None = None
    # The result itself, where it is no tensor.
    value: Any = None


@lru_cache(maxsize=1)
def _namespace() -> dict[str, Any]:
    """Everything printed rules may name: torch and the library's functions."""
    from collections.abc import Sequence

    import torch

    names: dict[str, Any] = {"torch": torch, "Any": Any, "Sequence": Sequence, "Shape": Sequence}
    text = "from __future__ import annotations\n" + "\n\n".join(library_functions(library_names()))
    exec(compile(text, "opkit/shape/library.py", "exec"), names)
    return names


def library_function(name: str) -> Callable[..., Any]:
    """Give a function of the library, made of the text that generated modules get."""
    function: Callable[..., Any] = _namespace()[name]
    return function


def evaluate(expression: Expression, scope: Scope, values: Mapping[str, Any], want: str = "value") -> Any:
    """Compute an expression; `values` are by Python spelling. Raises RuleError for what cannot be printed."""
    text = printed(expression, scope, want).text
    return eval(text, {**_namespace(), **values})


def apply(
    rule: Rule, arguments: Mapping[str, Any], environment: Environment | None = None
) -> tuple[Result, ...]:
    """Compute what a rule says about a call; `arguments` has every argument, defaults included.

    Raises RequirementFailed when the rule refuses the arguments, RuleError when the rule is not usable, and
    ValueError for a rule that is a Python function: that one has no description to compare with.
    """
    if rule.python is not None:
        raise ValueError(f"the rule of {rule.spec.name} is the function {rule.python}")
    scope = Scope.of_arguments(rule.spec.schema.arguments, environment=environment)
    values = dict(arguments)
    for name, expression in rule.bindings:
        values[name] = evaluate(expression, scope, values)
        scope = scope.bind(name, printed(expression, scope).kind, name)
    for requirement in rule.require:
        if not evaluate(requirement.condition, scope, values):
            raise RequirementFailed(requirement.message.format(**values))
        scope = assume(scope, requirement.condition)
    results: list[Result] = []
    for output in rule.outputs:
        if isinstance(output, Fresh):
            results.append(_fresh(output, scope, values))
        elif isinstance(output, Aliased):
            results.append(Result(None, None, output.argument))
        elif isinstance(output, Returned):
            results.append(_returned(output, scope, values, results))
        elif isinstance(output, Valued):
            results.append(Result(None, None, value=evaluate(output.value, scope, values)))
    return tuple(results)


def _returned(output: Returned, scope: Scope, values: Mapping[str, Any], earlier: list[Result]) -> Result:
    condition, otherwise = output.condition, output.otherwise
    if condition is not None and otherwise is not None and not evaluate(condition, scope, values):
        return _fresh(otherwise, scope, values)
    return earlier[output.what] if isinstance(output.what, int) else Result(None, None, output.what)


def _fresh(output: Fresh, scope: Scope, values: Mapping[str, Any]) -> Result:
    if output.condition is not None:
        if bool(evaluate(output.condition, scope, values)) is not output.when:
            return Result(None, None)
        scope = assume(scope, output.condition, output.when)
    shape = tuple(evaluate(output.size, scope, values, "shape"))
    return Result(shape, evaluate(output.dtype, scope, values, "dtype"))
