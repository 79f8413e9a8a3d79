"""Inside a worker: what is registered for an operator, its Meta kernel, what its schema says it writes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from opkit.prove.signature import differences
from opkit.prove.watch import Watch, has_kernel, has_meta


def facts(name: str, watch: Watch) -> dict[str, Any]:
    """Describe one operator; the keys are fields of `Finding`."""
    from opkit.cann.operators import find_operator

    operator = find_operator(name)
    schema = operator._schema
    function = watch.meta_function(name)
    return {
        "schema": str(schema),
        "meta": _meta(name, function),
        "signature": differences(function, schema) if function is not None else [],
        "mutated": [a.name for a in schema.arguments if a.alias_info is not None and a.alias_info.is_write],
        "mutation_problem": next(_mutation_problems(name, operator), ""),
    }


def _meta(name: str, function: object) -> str:
    if function is not None:
        return "python"
    if has_kernel(name, "CompositeImplicitAutograd", "CompositeExplicitAutograd"):
        return "composite"
    return "C++" if has_meta(name) else "none"


def _mutation_problems(name: str, operator: Any) -> Iterator[str]:
    """List what is wrong with what the schema says it writes (by torch 2.13's functionalization)."""
    import torch
    from torch._higher_order_ops.auto_functionalize import can_auto_functionalize

    schema = operator._schema
    if schema.overload_name == "out" and not schema.is_mutable:
        outs = [a.name for a in schema.arguments if a.name == "out"]
        if outs:
            yield "it writes `out`, which its schema declares as read-only: a graph may drop the write"
    if schema.is_mutable and not has_kernel(name, "Functionalize") and not can_auto_functionalize(operator):
        yield "functionalization refuses it: it writes arguments and returns them, or views of them"
    if (
        not schema.returns
        and not schema.is_mutable
        and operator not in torch.fx.node._side_effectful_functions
    ):
        yield "it returns nothing and declares no written argument: a graph drops it"
