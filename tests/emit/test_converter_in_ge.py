"""Printed converters in the real torchair: what reaches GE."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.npu


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    directory = tmp_path_factory.mktemp("ge")
    script = Path(__file__).with_name("converters_in_ge.py")
    environment = {k: v for k, v in os.environ.items() if k != "TORCH_DEVICE_BACKEND_AUTOLOAD"}
    done = subprocess.run(
        [sys.executable, str(script), str(directory)],
        env=environment,
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    result: dict[str, Any] = json.loads((directory / "found.json").read_text(encoding="utf-8"))
    return result


def _node(found: dict[str, Any], name: str) -> dict[str, Any]:
    assert isinstance(found[name], list), found[name]
    (node,) = found[name]
    result: dict[str, Any] = node
    return result


def test_inputs_attributes_and_outputs(found: dict[str, Any]) -> None:
    node = _node(found, "plain")
    assert node["type"] == "Plain"
    assert [name for name, _ in node["inputs"]] == ["x", "y", "z0", "z1"]
    assert node["attrs"] == {"a": 2.0, "b": 5}
    assert node["outputs"] == ["out"]


def test_an_absent_optional_input_keeps_its_place(found: dict[str, Any]) -> None:
    assert _node(found, "absent")["inputs"] == [["x", "Data"], ["y", None]]


def test_dropped_defaults_and_given_values(found: dict[str, Any]) -> None:
    # GE's numbers: float16 is 1, float32 is 0.
    assert _node(found, "defaults")["attrs"] == {"dtype": 1, "s": 1.0, "m": [True, False], "t": "q"}
    assert _node(found, "given")["attrs"] == {
        "dtype": 0,
        "s": 3.0,
        "e": 0.5,
        "m": [False, True],
        "t": "r",
    }


def test_written_arguments_come_back_through_outputs_of_their_name(found: dict[str, Any]) -> None:
    node = _node(found, "write")
    assert node["inputs"] == [["x", "TensorMove"], ["y", "TensorMove"]]
    assert node["outputs"] == ["x", "y"]
    assert node["refs"] == [0, 1]
    assert node["attrs"] == {"k": [1, 2]}


def test_a_keyword_as_argument_name(found: dict[str, Any]) -> None:
    node = _node(found, "write_fresh")
    assert node["outputs"] == ["x", "y0", "y1"]
    assert node["attrs"] == {"from": 4}
    assert _node(found, "many")["attrs"] == {"from": 4}


def test_a_list_of_results(found: dict[str, Any]) -> None:
    assert _node(found, "many")["outputs"] == ["y0", "y1"]


def test_a_name_torchair_would_not_convert_by_itself(found: dict[str, Any]) -> None:
    assert _node(found, "latent")["type"] == "Latent"


def test_a_size_as_attribute_must_be_known(found: dict[str, Any]) -> None:
    assert _node(found, "attribute")["attrs"] == {"n": 7}
    error = found["attribute dynamic"]["error"]
    assert "npu::attribute: n is symbolic, but as an attribute" in error


def test_a_size_as_input_may_be_symbolic(found: dict[str, Any]) -> None:
    assert _node(found, "sized")["inputs"] == [["x", "Data"], ["n", "Const"]]
    (_, (name, source)) = _node(found, "sized dynamic")["inputs"]
    assert name == "n"
    assert source != "Const"


def test_an_input_only_the_ir_writes_is_a_copy(found: dict[str, Any]) -> None:
    node = _node(found, "cached")
    assert node["inputs"] == [["c", "TensorMove"], ["x", "Data"]]
    assert node["outputs"] == ["c", "y"]
