"""`meta` and `gen_opapi` describe a result differently.

What it does
------------
Notes a custom operator that has both keys, where the size or the dtype of a result is not written alike in
the two. opkit makes the Meta kernel from `meta`.

Why it matters
--------------
op-plugin allocates the results of the NPU kernel by `gen_opapi`. Where `meta` says something else, a graph is
traced with other shapes than the kernel gives. It is a note, since two rules that look different may mean the
same. Where opkit has no rule for a function that `gen_opapi` calls, `meta` is there to say it, and nothing is
noted.

Example
-------
    - func: my_op(Tensor x) -> Tensor
      op_api: all_version
      gen_opapi:
        out: {size: x, dtype: x}
        exec: aclnnMyOp
      meta:
        out: {size: '[x.size(0), 4]', dtype: x}

Use instead
-----------
One rule:

    - func: my_op(Tensor x) -> Tensor
      op_api: all_version
      gen_opapi:
        out: {size: x, dtype: x}
        exec: aclnnMyOp
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from opkit.model.diagnostic import Diagnostic, Severity
from opkit.model.operator import OpSpec
from opkit.rules.context import Context, finding
from opkit.shape.printing import printed
from opkit.shape.rule import Fresh, Rule, resolve
from opkit.shape.scope import Scope
from opkit.shape.value import ATOM

CODE = "OPK119"


def check(op: OpSpec, context: Context) -> Iterator[Diagnostic]:
    """Compare the two rules as they would be printed, result by result; report the first difference."""
    if op.meta is None or op.gen_opapi is None or not op.meta.outputs or not op.gen_opapi.outputs:
        return
    used = resolve(op, context.op_file)
    other = resolve(replace(op, meta=None), context.op_file)
    if not (used.usable and other.usable) or len(used.outputs) != len(other.outputs):
        return
    for index, (rule, ours, theirs) in enumerate(zip(op.meta.outputs, _texts(used), _texts(other))):
        for what, left, right in zip(("size", "dtype"), ours, theirs):
            if left != right:
                first = op.gen_opapi.outputs[min(index, len(op.gen_opapi.outputs) - 1)]
                message = (
                    f"`{rule.name}` has {what} `{left}` in `meta` and `{right}` in `gen_opapi`; "
                    "opkit takes `meta`"
                )
                help = "make the two equal, or keep one"
                related = (("the other rule", first.mark),)
                yield finding(CODE, Severity.NOTE, op, message, rule.mark, help, related)
                return


def _texts(rule: Rule) -> Iterator[tuple[str, str]]:
    """Print size and dtype of each result, local names replaced by what they stand for."""
    scope = Scope.of_arguments(rule.spec.schema.arguments)
    for name, expression in rule.bindings:
        value = printed(expression, scope)
        scope = scope.bind(name, value.kind, value.at(ATOM))
    for output in rule.outputs:
        if isinstance(output, Fresh):
            yield printed(output.size, scope, "shape").text, printed(output.dtype, scope, "dtype").text
        else:
            yield "", ""
