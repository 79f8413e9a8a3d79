"""What rule expressions mean: evaluation over ints and SymInts, named helpers, printing as Python."""

from opkit.shape.printing import print_python
from opkit.shape.rule import Rule, resolve
from opkit.shape.scope import Environment, Scope

__all__ = ["Environment", "Rule", "Scope", "print_python", "resolve"]
