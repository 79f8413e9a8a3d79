"""Ascend IR prototypes: derived, taken from json, printed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from declarations import operator
from ge_specs import spec

from opkit.emit.ir_json import derive, emit, ir_definition, ir_name, prototype
from opkit.errors import OpkitError
from opkit.read import read_prototype


# torchair 2.13's `_get_converter_context`, run on these names.
@pytest.mark.parametrize(
    ("base", "ir"),
    [
        ("my_op", "MyOp"),
        ("npu_rms_norm", "NpuRmsNorm"),
        ("MLA_prolog", "MlaProlog"),
        ("myOp", "Myop"),
        ("my_inplace_", "MyInplace"),
        ("foo_functional", "Foo"),
        ("op_v2_3d", "OpV23d"),
        ("my__op", "MyOp"),
    ],
)
def test_ir_name_is_torchairs(base: str, ir: str) -> None:
    assert ir_name(base) == ir


def test_derived_prototype_sorts_arguments_into_inputs_and_attributes() -> None:
    op = spec(
        "my_op(Tensor x, int n, Tensor? y, Tensor[] z, *, float eps=1e-6, SymInt[]? k=None, ScalarType d) "
        "-> Tensor"
    )
    assert ir_definition(derive(op)) == {
        "op": "MyOp",
        "inputs": [["x", "required"], ["y", "optional"], ["z", "dynamic"]],
        "outputs": [["out", "required"]],
        "attrs": [["n", "VT_INT"], ["eps", "VT_FLOAT"], ["k", "VT_LIST_INT"], ["d", "VT_INT"]],
    }
    assert [a.required for a in derive(op).attributes] == [True, False, False, True]


def test_written_inputs_are_outputs_of_the_same_name_and_come_first() -> None:
    op = spec("my_op_(Tensor a, Tensor(a!) x, Tensor(b!) y) -> (Tensor, Tensor)")
    found = derive(op)
    assert [o.name for o in found.outputs] == ["x", "y", "z0", "z1"]
    assert found.reference_outputs == ("x", "y")


@pytest.mark.parametrize(
    ("func", "keys", "names"),
    [
        ("f(Tensor x) -> Tensor", {}, ["y"]),
        ("f(Tensor x, Tensor y) -> Tensor", {}, ["z"]),
        ("f(Tensor x) -> (Tensor, Tensor)", {}, ["y0", "y1"]),
        ("f(Tensor x) -> (Tensor a, Tensor b)", {}, ["a", "b"]),
        ("f(Tensor x) -> Tensor", {"gen_opapi": "{res: {size: x, dtype: x}, exec: aclnnF}"}, ["res"]),
        # An output named like an input would be the same memory to GE.
        ("f(Tensor x) -> (Tensor x, Tensor b)", {}, ["x_out", "b"]),
        ("f(Tensor x) -> Tensor", {"gen_opapi": "{x: {size: x, dtype: x}, exec: aclnnF}"}, ["x_out"]),
    ],
)
def test_names_of_fresh_outputs(func: str, keys: dict[str, str], names: list[str]) -> None:
    assert [o.name for o in derive(spec(func, **keys)).outputs] == names


def test_dtypes_come_from_the_cases() -> None:
    op = spec(
        "f(Tensor x, Tensor? i) -> Tensor",
        cases='[{x: "f16[2]", i: "i32[2]"}, {x: "bf16[2]", i: "i64[2]"}, {x: "f16[4]", i: "i32[2]"}]',
    )
    found = json.loads(emit(op))[0]
    assert [d["type"] for d in found["input_desc"]] == [["fp16", "bf16"], ["int32", "int64"]]
    assert [d["type"] for d in found["output_desc"]] == [["fp16", "bf16"]]
    assert all(len(d["format"]) == 2 for d in (*found["input_desc"], *found["output_desc"]))


def test_printed_json_reads_back_as_the_same_prototype(tmp_path: Path) -> None:
    op = spec(
        "f(Tensor(a!) x, Tensor? y, Tensor[] z, int n=3, bool b=True, str s='q', *, float[] l, int[][] m, "
        "float[][] w, int[]? k=None) -> Tensor",
        cases='[{x: "f16[2]", y: null, z: ["f16[2]"], l: [1.0], m: [[1]], w: [[1.0]]}]',
    )
    path = tmp_path / "f.json"
    path.write_text(emit(op), encoding="utf-8")
    found, diagnostics = read_prototype(path, None)
    assert diagnostics == ()
    assert found == (derive(op),)


def test_printing_is_deterministic() -> None:
    op = spec("f(Tensor x, int n=3) -> Tensor")
    assert emit(op) == emit(op)


def _json(path: Path, *names: str) -> str:
    tensor = {"name": "x", "param_type": "required", "format": ["ND"], "type": ["fp16"]}
    output = {**tensor, "name": "r"}
    operators = [{"op": n, "language": "cpp", "input_desc": [tensor], "output_desc": [output]} for n in names]
    path.write_text(json.dumps(operators), encoding="utf-8")
    return path.name


def test_prototype_is_taken_from_the_json_beside_the_yaml(tmp_path: Path) -> None:
    name = _json(tmp_path / "p.json", "Other", "MyOp")
    op = spec("my_op(Tensor x) -> Tensor", tmp_path, ge=f"{{prototype: {name}}}")
    assert prototype(op).op == "MyOp"
    assert [o.name for o in prototype(op).outputs] == ["r"]
    renamed = spec("my_op(Tensor x) -> Tensor", tmp_path, ge=f"{{prototype: {name}, ir: Other}}")
    assert prototype(renamed).op == "Other"


def test_the_only_operator_of_a_json_needs_no_name(tmp_path: Path) -> None:
    name = _json(tmp_path / "p.json", "Whatever")
    op = spec("my_op(Tensor x) -> Tensor", tmp_path, ge=f"{{prototype: {name}}}")
    assert prototype(op).op == "Whatever"


def test_a_json_without_the_operator_is_an_error_that_names_what_it_holds(tmp_path: Path) -> None:
    name = _json(tmp_path / "p.json", "A", "B")
    op = spec("my_op(Tensor x) -> Tensor", tmp_path, ge=f"{{prototype: {name}}}")
    with pytest.raises(OpkitError, match=r"p\.json holds A, B, not MyOp"):
        prototype(op)


def test_outputs_are_named_alike_wherever_the_rule_stands() -> None:
    func = "f(Tensor(a!) x, Tensor y) -> (Tensor, Tensor)"
    rules = ("out0: {size: x, dtype: x}", "out1: {size: y, dtype: y}")
    meta = operator(func, f"meta: {{{', '.join(rules)}}}")[0]
    gen_opapi = operator(func, f"gen_opapi: {{{', '.join(rules)}, exec: aclnnF}}")[0]
    for declared in (meta, gen_opapi):
        assert [t.name for t in prototype(declared).outputs] == ["x", "out0", "out1"]
    both = operator(func, f"gen_opapi: {{{', '.join(rules)}, exec: aclnnF}}",
                    f"meta: {{{', '.join(rules).replace('out', 'r')}}}")[0]  # fmt: skip
    assert [t.name for t in prototype(both).outputs] == ["x", "r0", "r1"]
