"""The schema that torch_npu registers for an entry, which is not always the one that is written."""

from __future__ import annotations

from dataclasses import replace

from opkit.model.operator import OpSpec
from opkit.model.schema import Argument, BaseType, ListType, OperatorSchema


def registered_schema(op: OpSpec) -> OperatorSchema:
    """Give the schema as the dispatcher has it.

    torch_npu's generator (torchnpugen of torch_npu 2.13) defines the operators of `custom` that have a kernel
    or stand in torch_npu's own YAML: an argument `self` is called `input`, and several `out` arguments become
    one `Tensor[] out` with fresh results. Every other entry is registered as it is written.
    """
    if op.section != "custom" or not (op.op_api or op.acl_op or ("backend", "NPU") in op.extra):
        return op.schema
    schema = gather_out(op.schema)
    arguments = tuple(replace(a, name="input") if a.name == "self" else a for a in schema.arguments)
    return replace(schema, arguments=arguments)


def gather_out(schema: OperatorSchema) -> OperatorSchema:
    """Make one list of several `out` arguments."""
    out = [a for a in schema.keyword_only if a.is_mutated]
    if len(out) < 2:
        return schema
    kept = tuple(a for a in schema.arguments if a not in out)
    gathered = Argument("out", ListType(BaseType("Tensor")), None, True, None, out[0].mark)
    returns = tuple(replace(r, alias=None, name=None) for r in schema.returns)
    return replace(schema, arguments=(*kept, gathered), returns=returns)
