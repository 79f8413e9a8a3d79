"""The page of each diagnostic code: what it means, why it matters, what to do.

A page is the docstring of the module named after the code. Codes: from 001 reading, from 101 graph entry,
from 201 the meaning of rules and the Meta kernel, from 220 hand-written code beside the schema, from 301 GE,
from 320 commands.
"""

from __future__ import annotations

import importlib
import textwrap

PAGES = {
    "OPK001": "opk001_unreadable_file",
    "OPK002": "opk002_not_yaml",
    "OPK003": "opk003_duplicate_key",
    "OPK004": "opk004_wrong_structure",
    "OPK005": "opk005_unknown_section",
    "OPK006": "opk006_version_value",
    "OPK007": "opk007_unknown_key",
    "OPK008": "opk008_symint_alone",
    "OPK009": "opk009_declared_twice",
    "OPK010": "opk010_schema_syntax",
    "OPK011": "opk011_unknown_type",
    "OPK012": "opk012_type_of_other_version",
    "OPK013": "opk013_bad_default",
    "OPK014": "opk014_duplicate_argument",
    "OPK015": "opk015_returns_none",
    "OPK016": "opk016_bare_mutation",
    "OPK017": "opk017_no_schema",
    "OPK018": "opk018_loose_spacing",
    "OPK019": "opk019_unknown_value",
    "OPK020": "opk020_expression_syntax",
    "OPK022": "opk022_not_one_shape",
    "OPK030": "opk030_gen_opapi_structure",
    "OPK031": "opk031_gen_opapi_exec",
    "OPK032": "opk032_gen_opapi_results",
    "OPK033": "opk033_inherited_rule",
    "OPK040": "opk040_entry_point",
    "OPK041": "opk041_meta_structure",
    "OPK042": "opk042_ge_structure",
    "OPK043": "opk043_bad_case",
    "OPK044": "opk044_contract",
    "OPK050": "opk050_bad_prototype",
    "OPK101": "opk101_returned_argument",
    "OPK102": "opk102_no_effect",
    "OPK103": "opk103_no_output_rule",
    "OPK104": "opk104_no_tensor_argument",
    "OPK105": "opk105_argument_called_mode",
    "OPK106": "opk106_mutating_with_other_results",
    "OPK107": "opk107_shared_alias",
    "OPK108": "opk108_misleading_name",
    "OPK109": "opk109_aclop_only",
    "OPK110": "opk110_int_for_size",
    "OPK111": "opk111_none_default",
    "OPK112": "opk112_default_kind",
    "OPK113": "opk113_host_list",
    "OPK114": "opk114_text_device",
    "OPK115": "opk115_several_out",
    "OPK116": "opk116_generator_limit",
    "OPK117": "opk117_version_limit",
    "OPK118": "opk118_missing_file",
    "OPK119": "opk119_two_rules",
    "OPK120": "opk120_python_keyword",
    "OPK121": "opk121_schema_limit",
    "OPK122": "opk122_auto_converter",
    "OPK123": "opk123_tensors_first",
    "OPK124": "opk124_several_written",
    "OPK201": "opk201_no_rule",
    "OPK202": "opk202_unknown_name",
    "OPK203": "opk203_unknown_helper",
    "OPK204": "opk204_wrong_call",
    "OPK205": "opk205_wrong_count",
    "OPK206": "opk206_wrong_kind",
    "OPK207": "opk207_needs_environment",
    "OPK210": "opk210_custom_op_alias",
    "OPK211": "opk211_custom_op_overload",
    "OPK212": "opk212_custom_op_keyword_tensor",
    "OPK220": "opk220_source_not_compared",
    "OPK221": "opk221_parameters",
    "OPK222": "opk222_required_parameter",
    "OPK223": "opk223_default_differs",
    "OPK224": "opk224_renamed_parameter",
    "OPK225": "opk225_result_count",
    "OPK226": "opk226_stale_name",
    "OPK227": "opk227_without_meta",
    "OPK228": "opk228_meta_twice",
    "OPK229": "opk229_size_as_number",
    "OPK230": "opk230_device",
    "OPK231": "opk231_result_is_argument",
    "OPK232": "opk232_number_as_dtype",
    "OPK233": "opk233_undefined_name",
    "OPK240": "opk240_kernel_returns_argument",
    "OPK241": "opk241_kernel_writes_argument",
    "OPK242": "opk242_definition_in_cpp",
    "OPK243": "opk243_number_of_size_in_cpp",
    "OPK244": "opk244_mutates_args",
    "OPK245": "opk245_kernel_waits",
    "OPK301": "opk301_ge_argument",
    "OPK302": "opk302_ge_mutable_container",
    "OPK303": "opk303_ge_result",
    "OPK304": "opk304_ge_prototype_mismatch",
    "OPK305": "opk305_ge_matched_by_order",
    "OPK306": "opk306_ge_shared_type",
    "OPK307": "opk307_ge_prototype_missing",
    "OPK320": "opk320_scaffold_request",
    "OPK330": "opk330_promise_not_kept",
    "OPK331": "opk331_not_promised",
    "OPK332": "opk332_no_promise",
    "OPK333": "opk333_expired",
    "OPK334": "opk334_known_failure_passes",
}

# What a finding can weigh, where that is not always "error". It depends on the operator and on who asks: a GE
# finding is an error to `gen` and a warning to `check`, since npugraph_ex takes the operator all the same.
_SEVERITIES = {
    "OPK004": "error, warning",
    "OPK005": "warning",
    "OPK006": "error, warning",
    "OPK007": "warning, note",
    "OPK008": "warning",
    "OPK009": "error, warning",
    "OPK012": "error, warning",
    "OPK015": "warning",
    "OPK016": "warning",
    "OPK018": "warning, note",
    "OPK019": "warning",
    "OPK030": "error, warning",
    "OPK031": "error, warning",
    "OPK032": "error, warning",
    "OPK101": "error, warning, note",
    "OPK103": "note",
    "OPK104": "warning",
    "OPK108": "error, warning",
    "OPK109": "warning",
    "OPK110": "note",
    "OPK111": "warning",
    "OPK112": "warning",
    "OPK113": "note",
    "OPK114": "warning",
    "OPK115": "warning",
    "OPK117": "warning",
    "OPK119": "note",
    "OPK122": "note",
    "OPK123": "note",
    "OPK124": "note",
    "OPK203": "error, warning, note",
    "OPK207": "error, note",
    "OPK220": "error, warning, note",
    "OPK221": "error, warning",
    "OPK223": "error, warning, note",
    "OPK224": "note",
    "OPK226": "error, warning, note",
    "OPK227": "warning, note",
    "OPK228": "error, warning",
    "OPK229": "warning",
    "OPK230": "error, warning",
    "OPK241": "error, warning",
    "OPK243": "warning",
    "OPK245": "warning",
    "OPK301": "error, warning, note",
    "OPK302": "error, warning",
    "OPK303": "error, warning",
    "OPK304": "error, warning",
    "OPK305": "warning, note",
    "OPK306": "note",
    "OPK307": "error, warning",
    "OPK330": "error, note",
    "OPK334": "warning",
}


def severities(code: str) -> tuple[str, ...]:
    """Give what findings of a code can weigh, the heaviest first."""
    return tuple(_SEVERITIES.get(code, "error").split(", "))


def _docstring(code: str) -> str:
    """Give the raw page. Raises KeyError for an unknown code."""
    module = importlib.import_module(f"opkit.rules.{PAGES[code]}")
    return textwrap.dedent(module.__doc__ or "").strip()


def title(code: str) -> str:
    """Give what the code means in one line. Raises KeyError for an unknown code."""
    return _docstring(code).split("\n", 1)[0]


def page(code: str) -> str:
    """Give the whole page. Raises KeyError for an unknown code."""
    return f"{code}: {_docstring(code)}\n"
