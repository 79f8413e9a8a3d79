"""One check per module, each with a code and a page."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Callable

from opkit.model.diagnostic import Diagnostic
from opkit.model.operator import OpFile, OpSpec
from opkit.rules.borrowed import check_ge, check_meaning
from opkit.rules.context import Context
from opkit.rules.opk103_no_output_rule import CODE as NO_OUTPUT_RULE

# Checks of operators that are to enter a graph, in the order of their codes.
RULES = (
    "opk014_duplicate_argument",
    "opk101_returned_argument",
    "opk102_no_effect",
    "opk103_no_output_rule",
    "opk104_no_tensor_argument",
    "opk105_argument_called_mode",
    "opk106_mutating_with_other_results",
    "opk107_shared_alias",
    "opk108_misleading_name",
    "opk109_aclop_only",
    "opk110_int_for_size",
    "opk111_none_default",
    "opk112_default_kind",
    "opk113_host_list",
    "opk114_text_device",
    "opk115_several_out",
    "opk118_missing_file",
    "opk119_two_rules",
    "opk120_python_keyword",
    "opk122_auto_converter",
    "opk123_tensors_first",
    "opk124_several_written",
)
# Checks of what op-plugin's own generator makes of an entry, for every section.
GENERATOR_RULES = ("opk116_generator_limit", "opk117_version_limit", "opk121_schema_limit")


def check(
    op_file: OpFile, torch_version: str | None = None, broken: frozenset[str] = frozenset()
) -> tuple[Diagnostic, ...]:
    """Run every rule over a file.

    `broken` names operators that could not be read completely: what generating code would say about them only
    repeats that.

    The graph rules look at `custom` operators only: what is `official` is torch's own, and torch knows how to
    take it into a graph.
    """
    context = Context(op_file, torch_version)
    graph_rules = [_load(name) for name in RULES]
    generator_rules = [_load(name) for name in GENERATOR_RULES]
    findings: list[Diagnostic] = []
    for op in op_file.operators:
        for rule in generator_rules:
            findings += rule(op, context)
        if op.section == "custom":
            for rule in graph_rules:
                findings += rule(op, context)
    # That a result has no rule is no news where the rule could not be read.
    findings = [f for f in findings if f.code != NO_OUTPUT_RULE or f.operator not in broken]
    borrowed = [*check_meaning(context), *check_ge(context)]
    return (*findings, *(f for f in borrowed if f.operator not in broken))


def _load(name: str) -> Callable[[OpSpec, Context], Iterator[Diagnostic]]:
    """Give the check of a rule's module."""
    rule: Callable[[OpSpec, Context], Iterator[Diagnostic]]
    rule = importlib.import_module(f"opkit.rules.{name}").check
    return rule
