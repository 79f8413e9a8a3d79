"""Two arguments have the same alias letter.

What it does
------------
Reports arguments of a custom operator that share an alias letter of which one is written.

Why it matters
--------------
Equal letters say that the arguments share memory. Functionalization then cannot tell which of them the
operator writes; the usual cause is a copied annotation.

Example
-------
    - func: my_rope(Tensor(a!) query, Tensor(a!) key, Tensor cos) -> ()

Use instead
-----------
    - func: my_rope(Tensor(a!) query, Tensor(b!) key, Tensor cos) -> ()
"""

from __future__ import annotations

from collections.abc import Iterator

from opkit.model.diagnostic import Diagnostic, Severity
from opkit.model.operator import OpSpec
from opkit.model.schema import Argument
from opkit.rules.context import Context, finding

CODE = "OPK107"


def check(op: OpSpec, context: Context) -> Iterator[Diagnostic]:
    """Report each argument whose letter an earlier one has."""
    first: dict[str, Argument] = {}
    for argument in op.schema.arguments:
        for letter in argument.alias.before if argument.alias else ():
            other = first.setdefault(letter, argument)
            if other is not argument and letter != "*" and (other.is_mutated or argument.is_mutated):
                message = f"`{argument.name}` and `{other.name}` have the same alias letter `{letter}`"
                related = (("the first one", other.mark),)
                help = "give each argument a letter of its own"
                yield finding(CODE, Severity.ERROR, op, message, argument.mark, help, related)
