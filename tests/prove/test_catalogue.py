"""Every fault of catalogue/table.yaml is found at its stage, for its reason, and its twin enters."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from opkit.errors import OpkitError
from opkit.prove.protocol import BREAKS, ENTERS, ModeResult, Proof
from opkit.testing import prove

CATALOGUE = Path(__file__).parent / "catalogue"
TABLE: list[dict[str, Any]] = yaml.safe_load((CATALOGUE / "table.yaml").read_text(encoding="utf-8"))
PROVED = [row for row in TABLE if "operator" in row]
MODES = {"meta_kernels": "npugraph_ex", "kernels": "npugraph_ex", "ge_nodes": "ge"}


@pytest.fixture(scope="module")
def results(proof_of: Callable[..., Proof]) -> Callable[[str], dict[str, list[ModeResult]]]:
    def of(file: str) -> dict[str, list[ModeResult]]:
        imports, modes = [CATALOGUE / f"{file}.py"], [MODES[file]]
        proof = proof_of(CATALOGUE / f"{file}.yaml", imports=imports, modes=modes)
        found: dict[str, list[ModeResult]] = {}
        for operator in proof.operators:
            found.setdefault(operator.name, []).extend(operator.modes)
        return found

    return of


def _wrong(operator: str) -> str:
    name, dot, overload = operator.partition(".")
    return f"{name}_wrong{dot}{overload}"


def _named(row: dict[str, Any]) -> str:
    return f"{row['file']}-{row['operator']}"


@pytest.mark.npu
@pytest.mark.parametrize("row", PROVED, ids=_named)
def test_the_fault_is_found(results: Callable[..., Any], row: dict[str, Any]) -> None:
    found = [mode for mode in results(row["file"])[_wrong(row["operator"])] if mode.verdict != ENTERS]
    assert found
    for mode in found:
        assert mode.verdict == BREAKS
        assert mode.reason.startswith(f"{row['stage']}: ")
        assert row["says"] in mode.reason
        assert "Traceback" not in mode.reason


@pytest.mark.npu
@pytest.mark.parametrize("row", PROVED, ids=_named)
def test_the_twin_enters(results: Callable[..., Any], row: dict[str, Any]) -> None:
    found = results(row["file"])[row["operator"]]
    assert [mode.reason for mode in found if mode.verdict != ENTERS] == []
    assert found


@pytest.mark.npu
def test_what_returns_nothing_needs_no_meta_kernel(results: Callable[..., Any]) -> None:
    [mode] = results("meta_kernels")["none_needed"]
    assert mode.verdict == ENTERS, mode.reason
    [dynamo] = [stage for stage in mode.stages if stage.name == "dynamo"]
    assert dynamo.evidence["operator nodes"] == 1
    assert "auto_functionalized_v2" in dynamo.evidence["nodes"][0]


@pytest.mark.npu
def test_calls_that_the_meta_kernel_refuses_are_listed_as_not_compared(results: Callable[..., Any]) -> None:
    [mode] = results("meta_kernels")["steps"]
    assert mode.verdict == ENTERS, mode.reason
    [meta] = [stage for stage in mode.stages if stage.name == "meta"]
    refused = "the Meta kernel raises ValueError: the last dim must be divisible by 4"
    assert meta.evidence["other calls not compared"] == [
        f"x with a larger dim 1: {refused}",
        f"every tensor with sizes of its own: {refused}",
    ]
    assert meta.evidence["other calls"].startswith("2 with other sizes")


@pytest.mark.npu
def test_a_rule_without_a_new_result_is_no_comparison(results: Callable[..., Any]) -> None:
    for mode in results("kernels")["write"]:
        assert mode.verdict == ENTERS, mode.reason
        [meta] = [stage for stage in mode.stages if stage.name == "meta"]
        assert meta.evidence["other calls"] == "not compared: the rule tells of no new result"


@pytest.mark.npu
@pytest.mark.parametrize(
    ("name", "differs"),
    # An aten operator may lay out its result in another way elsewhere: no verdict about a Python kernel.
    [("strides_wrong", "strides [1, 5]"), ("strides", "")],
)
def test_strides_of_a_transposed_input_are_evidence(
    results: Callable[..., Any], name: str, differs: str
) -> None:
    [mode] = results("meta_kernels")[name]
    [host] = [stage for stage in mode.stages if stage.name == "host"]
    found = host.evidence["non-contiguous inputs"]
    assert found.startswith("accepted")
    assert ("the Meta kernel says" in found) == bool(differs)
    assert differs in found


@pytest.mark.npu
def test_backends_in_the_wrong_order_are_named() -> None:
    operators = CATALOGUE / "ge_nodes.yaml"
    imports = [CATALOGUE / "npugraph_ex_first.py"]
    with pytest.raises(OpkitError, match=r"torchair cannot start: .*op_broadcast"):
        prove(operators, imports=imports, operators=["missing"], modes=["ge"])


@pytest.mark.npu
def test_an_import_that_takes_the_process_down_is_quoted() -> None:
    proof = prove(
        CATALOGUE / "kernels.yaml", imports=[CATALOGUE / "aborts.py"], operators=["item"], modes=["ge"]
    )
    [mode] = [mode for operator in proof.operators for mode in operator.modes]
    assert mode.verdict == BREAKS
    assert "the process died of signal SIGABRT" in mode.reason
    assert "CHECK failed: GeneratedDatabase()->Add(encoded_file_descriptor, size)" in mode.reason


@pytest.mark.npu
def test_a_frozen_parameter_is_not_read_again() -> None:
    program = [sys.executable, "-m", "opkit", "run", str(CATALOGUE / "frozen.py")]
    done = subprocess.run(program, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.splitlines()[-2:] == ["read again: True", "frozen: False"], done.stderr


@pytest.mark.npu
def test_opcheck_passes_some_of_the_faults() -> None:
    names = sorted(_wrong(row["operator"]) for row in PROVED if row.get("passes_opcheck"))
    program = [sys.executable, str(CATALOGUE / "opcheck.py"), *names]
    done = subprocess.run(program, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.splitlines() == [f"{name}: passes" for name in names], done.stderr


def test_the_table_and_the_operators_are_the_same() -> None:
    for file in MODES:
        rows = [row["operator"] for row in PROVED if row["file"] == file]
        entries = yaml.safe_load((CATALOGUE / f"{file}.yaml").read_text(encoding="utf-8"))["custom"]
        names = [entry["func"].partition("::")[2].partition("(")[0] for entry in entries]
        extra = ["none_needed", "steps", "strides", "strides_wrong"] if file == "meta_kernels" else []
        assert sorted(names) == sorted([*rows, *map(_wrong, rows), *extra])


@pytest.mark.parametrize("row", [row for row in TABLE if "test" in row], ids=lambda row: row["fault"])
def test_the_tests_elsewhere_exist(row: dict[str, Any]) -> None:
    file, _, name = row["test"].partition("::")
    tree = ast.parse((Path(__file__).parents[2] / file).read_text(encoding="utf-8"))
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
