"""The keys `enters` and `known_failures`: what is read, what is refused, and where."""

from __future__ import annotations

import json

import jsonschema
import pytest
import yaml

from opkit.emit import emit_meta
from opkit.files import data_directory
from opkit.model.contract import Contract
from opkit.model.diagnostic import Diagnostic
from opkit.read.file import read_text

HEAD = "custom:\n  - func: my_op(Tensor x) -> Tensor\n"


def read(*lines: str) -> tuple[Contract | None, tuple[Diagnostic, ...]]:
    op_file, diagnostics = read_text(text(*lines), "ops.yaml")
    assert op_file is not None
    return op_file.operators[0].contract, diagnostics


def text(*lines: str) -> str:
    return HEAD + "".join(f"    {line}\n" for line in lines)


def is_valid(*lines: str) -> bool:
    schema = json.loads((data_directory("yaml_schemas") / "op_plugin.schema.json").read_text("utf-8"))
    return jsonschema.Draft7Validator(schema).is_valid(yaml.safe_load(text(*lines)))


def test_an_operator_without_the_key_promises_nothing_at_all() -> None:
    assert read() == (None, ())


def test_an_empty_list_is_a_promise() -> None:
    contract, diagnostics = read("enters: []")
    assert contract is not None
    assert (contract.words, diagnostics) == ((), ())


def test_promises_have_their_places() -> None:
    contract, diagnostics = read("enters: [npugraph_ex, ge, dynamic, no_recompile, cache]")
    assert not diagnostics
    assert contract is not None
    assert contract.words == ("npugraph_ex", "ge", "dynamic", "no_recompile", "cache")
    assert str(contract.promises[1].mark) == "ops.yaml:3:27"


@pytest.mark.parametrize("until", ["2027-03-01", "'2027-03-01'", "opkit 0.3", "torch_npu 2.14.0"])
def test_known_failure(until: str) -> None:
    lines = (
        "enters: [ge]",
        "known_failures:",
        f"  - {{promise: ge, reason: the IR is late, until: {until}}}",
    )
    contract, diagnostics = read(*lines)
    assert not diagnostics
    assert contract is not None
    (failure,) = contract.known_failures
    assert (failure.word, failure.reason, failure.until) == ("ge", "the IR is late", until.strip("'"))
    assert str(failure.mark) == "ops.yaml:5:9"
    assert is_valid(*lines)


@pytest.mark.parametrize(
    ("lines", "place", "message"),
    [
        (["enters: [gee]"], "3:14", "no promise `gee`"),
        (["enters: [ge, ge]"], "3:18", "promised twice"),
        (["enters: ge"], "3:13", "is a list"),
        (["enters: [[ge]]"], "3:14", "no promise a list"),
        (["enters: null"], "3:13", "is a list, found nothing"),
        (["known_failures: []"], "3:5", "without `enters`"),
        (["enters: [ge]", "known_failures: ge"], "4:21", "is a list"),
        (["enters: [ge]", "known_failures: [ge]"], "4:22", "is a mapping"),
        (["enters: [ge]", "known_failures: [{promise: ge, until: 2027-03-01}]"], "4:22", "has no `reason`"),
        (
            ["enters: [ge]", "known_failures: [{promise: ge, reason: a, until: 2027-13-01}]"],
            "4:54",
            "is no end",
        ),
        (["enters: [ge]", "known_failures: [{promise: ge, reason: a, until: cann 9}]"], "4:54", "is no end"),
    ],
)
def test_mistakes(lines: list[str], place: str, message: str) -> None:
    _, (found,) = read(*lines)
    assert found.code == ("OPK004" if "is a mapping" in message else "OPK044")
    assert message in found.message
    assert str(found.mark) == f"ops.yaml:{place}"
    # What the calendar has is more than a pattern can say, and YAML readers refuse it on their own.
    assert "2027-13" in lines[-1] or not is_valid(*lines)


def test_mistakes_that_a_json_schema_cannot_tell() -> None:
    contract, (found,) = read("enters: [dynamic, cache]")
    assert contract is not None
    assert "no graph is promised" in found.message
    failures = ["known_failures:", *["  - {promise: ge, reason: a, until: 2027-03-01}"] * 2]
    _, (found,) = read("enters: [ge]", *failures)
    assert "twice" in found.message
    _, (found,) = read("enters: [ge]", failures[0], failures[1].replace("ge", "cache"))
    assert "does not promise `cache`" in found.message


def test_what_is_generated_does_not_depend_on_promises() -> None:
    rule = "meta: {out: {size: x, dtype: x}}"
    plain, _ = read_text(text(rule), "ops.yaml")
    promising, _ = read_text(text(rule, "enters: [ge]"), "ops.yaml")
    assert plain is not None
    assert promising is not None
    assert emit_meta(plain) == emit_meta(promising)
