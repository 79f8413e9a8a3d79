"""The JSON Schema editors use says the same as the reader, as far as a JSON Schema can."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from opkit.files import data_directory
from opkit.read import entry, file
from opkit.shipped import rule_files

FIXTURES = Path(__file__).parents[1] / "rules" / "fixtures"


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    text = (data_directory("yaml_schemas") / "op_plugin.schema.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    jsonschema.Draft7Validator.check_schema(loaded)
    return loaded


def errors(schema: dict[str, Any], text: str) -> list[str]:
    found = jsonschema.Draft7Validator(schema).iter_errors(yaml.safe_load(text))
    return [error.message for error in found]


def test_same_keys(schema: dict[str, Any]) -> None:
    assert set(schema["definitions"]["entry"]["properties"]) == set(entry._KNOWN_KEYS)
    assert set(schema["properties"]) == {*file.SECTIONS, *file._OTHER_KEYS}


def test_healthy_operators_are_valid(schema: dict[str, Any]) -> None:
    assert errors(schema, (FIXTURES / "healthy.yaml").read_text(encoding="utf-8")) == []
    assert errors(schema, "custom:\nofficial:\nall_version: [v2.1]\n") == []


@pytest.mark.parametrize("code", ["OPK004", "OPK005", "OPK017", "OPK030", "OPK040", "OPK041", "OPK042"])
def test_mistakes_of_structure_are_not_valid(schema: dict[str, Any], code: str) -> None:
    assert errors(schema, (FIXTURES / f"{code}.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("rule", "valid"),
    [
        ("{size: x, dtype: x}", True),
        ("{alias: x}", True),
        ("{alias: x, when: n == 1, size: x, dtype: x}", True),
        ("{size: x}", False),
        ("{alias: x, size: x, dtype: x}", False),
        ("{alias: x, when: n == 1}", False),
        ("{size: x, dtype: x, strides: x}", False),
        ("{value: x.numel() * 2}", True),
        ("{value: x.numel(), size: x, dtype: x}", False),
        ("{value: x.numel(), alias: x}", False),
    ],
)
def test_results_of_a_rule(schema: dict[str, Any], rule: str, valid: bool) -> None:
    text = f"custom:\n  - func: f(Tensor x, int n) -> Tensor\n    meta: {{out: {rule}}}\n"
    assert (errors(schema, text) == []) is valid


def test_shipped_rules_are_valid(schema: dict[str, Any]) -> None:
    for path in rule_files("torch_npu"):
        assert errors(schema, path.read_text(encoding="utf-8")) == [], path
