from __future__ import annotations

import json
from pathlib import Path

import pytest

from opkit.model.diagnostic import Mark
from opkit.model.prototype import IrAttribute, IrTensor
from opkit.read import read_prototype

MARK = Mark("ops.yaml", 7, 9)
GOOD = {
    "op": "MyOp",
    "language": "cpp",
    "input_desc": [
        {"name": "x", "param_type": "required", "format": ["ND", "ND"], "type": ["fp16", "float"]},
        {"name": "y", "param_type": "optional", "format": ["ND"], "type": ["fp16"]},
        {"name": "z", "param_type": "dynamic", "format": ["ND"], "type": ["fp16"]},
    ],
    "output_desc": [{"name": "x", "param_type": "required", "format": ["ND"], "type": ["fp16"]}],
    "attr": [
        {"name": "a", "param_type": "required", "type": "float"},
        {"name": "b", "param_type": "optional", "type": "list_int", "default_value": "[1, 2]"},
        {"name": "c", "param_type": "optional", "type": "bool", "default_value": "True"},
        {"name": "d", "param_type": "optional", "type": "string", "default_value": "ND"},
        {"name": "e", "param_type": "optional", "type": "int", "default_value": 3},
    ],
}


def write(tmp_path: Path, data: object) -> Path:
    path = tmp_path / "op.json"
    path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return path


def test_prototype(tmp_path: Path) -> None:
    (prototype,), diagnostics = read_prototype(write(tmp_path, [GOOD]), MARK)
    assert diagnostics == ()
    assert prototype.op == "MyOp"
    assert prototype.inputs[0] == IrTensor("x", "required", ("fp16", "float"))
    assert [i.kind for i in prototype.inputs] == ["required", "optional", "dynamic"]
    assert prototype.reference_outputs == ("x",)
    assert prototype.attributes == (
        IrAttribute("a", "VT_FLOAT", True),
        IrAttribute("b", "VT_LIST_INT", False, [1, 2]),
        IrAttribute("c", "VT_BOOL", False, True),
        IrAttribute("d", "VT_STRING", False, "ND"),
        IrAttribute("e", "VT_INT", False, 3),
    )


def test_one_operator_without_a_list(tmp_path: Path) -> None:
    (prototype,), diagnostics = read_prototype(write(tmp_path, GOOD), MARK)
    assert (prototype.op, diagnostics) == ("MyOp", ())


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("[", "not valid JSON"),
        ([1], "no `op`"),
        ([{"op": ""}], "no `op`"),
        ([{"op": "A", "input_desc": 1}], "is a list"),
        ([{"op": "A", "input_desc": [{}]}], "no `name`"),
        ([{"op": "A", "input_desc": [{"name": "x", "param_type": "requird"}]}], "requird"),
        ([{"op": "A", "attr": [{"name": "x", "type": "floot"}]}], "floot"),
        ([{"op": "A", "input_desc": [{"name": "x"}, {"name": "x"}]}], "two inputs"),
    ],
)
def test_mistakes(tmp_path: Path, data: object, message: str) -> None:
    _, diagnostics = read_prototype(write(tmp_path, data), MARK)
    (found,) = diagnostics
    assert found.code == "OPK050"
    assert message in found.message
    assert found.mark is not None


def test_missing_file(tmp_path: Path) -> None:
    prototypes, (found,) = read_prototype(tmp_path / "nothing.json", MARK)
    assert prototypes == ()
    assert found.mark == MARK
