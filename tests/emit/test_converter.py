"""What converters say, and what GE cannot take. That they work is shown by test_converter_in_ge.py."""

from __future__ import annotations

import ast
import inspect
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ge_specs import file_of, spec

from opkit.emit.converter import check, check_file, emit
from opkit.model.operator import OpSpec

MY_OP = '''
@torchair.register_fx_node_ge_converter(torch.ops.npu.my_op.default)
def convert_my_op(
    x: ge.Tensor,
    y: ge.Tensor | None,
    z: list[ge.Tensor],
    attr1: float,
    attr2: int,
    *,
    meta_outputs=None,
):
    """npu::my_op(Tensor x, Tensor? y, Tensor[] z, float attr1, int attr2) -> Tensor"""
    return ge.custom_op(
        "MyOp",
        inputs={"x": x, "y": y, "z": z},
        attrs={"attr1": ge.attr.Float(attr1), "attr2": ge.attr.Int(attr2)},
        outputs=["out"],
    )
'''
MY_INPLACE = '''
@torchair.register_fx_node_ge_converter(torch.ops.npu.my_inplace.default)
def convert_my_inplace(x: ge.Tensor, y: ge.Tensor, *, meta_outputs=None):
    """npu::my_inplace(Tensor(a!) x, Tensor y) -> Tensor"""
    outputs = ge.custom_op(
        "MyInplace",
        inputs={"x": x, "y": y},
        attrs={},
        outputs=["x", "z"],
    )
    return outputs[1]
'''


def text_of(*specs: OpSpec) -> str:
    return emit(file_of(*specs), "npu", "# header\n")


EFFECT = '''
def convert_effect(x: ge.Tensor, *, meta_outputs=None):
    """npu::effect(Tensor x) -> Tensor"""
    outputs = ge.custom_op(
        "Effect",
        inputs={"x": x},
        attrs={},
        outputs=["y"],
    )
    _keep_last_node()
    return outputs
'''


def test_an_effect_is_kept() -> None:
    text = text_of(replace(spec("effect(Tensor x) -> Tensor"), side_effect=True))
    assert text.count("def _keep_last_node()") == 1
    assert text.endswith(EFFECT)
    assert "_keep_last_node" not in text_of(spec("effect(Tensor x) -> Tensor"))


def test_the_two_sample_operators() -> None:
    text = text_of(
        spec("my_op(Tensor x, Tensor? y, Tensor[] z, float attr1, int attr2) -> Tensor"),
        spec("my_inplace(Tensor(a!) x, Tensor y) -> Tensor"),
    )
    assert text.startswith("# header\n")
    assert text.endswith(f"{MY_OP}\n{MY_INPLACE}")


def _signature(text: str) -> inspect.Signature:
    """Read the signature of the only converter without importing torchair."""
    functions = [
        n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef) and "convert_" in n.name
    ]
    (function,) = functions
    function.decorator_list, function.body = [], [ast.Pass()]
    for argument in ast.walk(function):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    scope: dict[str, Any] = {}
    exec(ast.unparse(function), scope)
    return inspect.signature(scope[function.name])


def test_parameters_are_the_schemas_with_its_defaults() -> None:
    signature = _signature(
        text_of(
            spec(
                "f(Tensor self, int n=-1, float e=1e-20, str s='a\"b', *, bool[2] m=[True,False], "
                "Scalar a=1, int[1] k=0, Tensor? t=None, int r) -> Tensor"
            )
        )
    )
    defaults = {
        name: p.default
        for name, p in signature.parameters.items()
        if p.default is not inspect.Parameter.empty
    }
    assert list(signature.parameters) == ["self", "n", "e", "s", "m", "a", "k", "t", "r", "meta_outputs"]
    # torchair calls the converter of an operator that writes an argument without meta_outputs.
    assert defaults == {
        "n": -1,
        "e": 1e-20,
        "s": 'a"b',
        "m": (True, False),
        "a": 1,
        "k": (0,),
        "t": None,
        "meta_outputs": None,
    }
    keyword_only = [n for n, p in signature.parameters.items() if p.kind is inspect.Parameter.KEYWORD_ONLY]
    assert keyword_only == ["m", "a", "k", "t", "r", "meta_outputs"]


def test_each_overload_gets_a_converter_of_its_own_and_a_repeated_entry_one() -> None:
    op, other = spec("f(Tensor x) -> Tensor"), spec("f.Tensor(Tensor x, Tensor y) -> Tensor")
    text = text_of(op, other, spec("f(Tensor x) -> Tensor"))
    assert text.count("torch.ops.npu.f.default)") == 1
    assert text.count("torch.ops.npu.f.Tensor)") == 1


def test_an_operator_keeps_the_namespace_it_names() -> None:
    assert "torch.ops.mylib.f.default" in text_of(spec("mylib::f(Tensor x) -> Tensor"))


def test_an_absent_optional_attribute_is_left_out() -> None:
    text = text_of(spec("f(Tensor x, int a, float? e=None) -> Tensor"))
    assert (
        'attrs = {"a": ge.attr.Int(a)}\n    if e is not None:\n        attrs["e"] = ge.attr.Float(e)' in text
    )


def test_a_module_holds_only_the_helpers_it_uses() -> None:
    assert "def _" not in text_of(spec("f(Tensor x) -> Tensor"))
    assert "def _static(" in text_of(spec("f(Tensor x, SymInt n) -> Tensor"))


def test_text_is_the_same_every_time_and_a_header_docstring_stays_the_docstring() -> None:
    op = spec("f(Tensor x, Scalar s, ScalarType d, SymInt[] n) -> (Tensor, Tensor)")
    assert text_of(op) == text_of(op)
    tree = ast.parse(emit(file_of(op), "npu", '"""Mine."""\n'))
    assert ast.get_docstring(tree) == "Mine."


def test_a_converter_written_by_hand_is_registered_instead() -> None:
    by_module = text_of(spec("f(Tensor x, Device d) -> int", ge="{converter: my.pkg:convert}"))
    assert "import my.pkg\n" in by_module
    assert "register_fx_node_ge_converter(torch.ops.npu.f.default)(my.pkg.convert)" in by_module
    by_file = text_of(spec("f(Tensor x) -> Tensor", ge="{converter: conv/c.py:convert}"))
    assert '_load("conv/c.py", "convert")' in by_file
    ast.parse(by_file)


# ---- what GE cannot take


@pytest.mark.parametrize(
    ("func", "expected"),
    [
        ("f(Tensor x, Device d) -> Tensor", [("OPK301", "error", "no type for Device")]),
        ("f(Tensor x, Layout d) -> Tensor", [("OPK301", "error", "no type for Layout")]),
        ("f(Tensor x, MemoryFormat d) -> Tensor", [("OPK301", "error", "no type for MemoryFormat")]),
        ("f(Tensor x, Generator? g=None) -> Tensor", [("OPK301", "warning", "must stay None")]),
        ("f(Tensor x, Tensor?[] i) -> Tensor", [("OPK301", "warning", "no None inside")]),
        ("f(Tensor x, int meta_outputs) -> Tensor", [("OPK301", "error", "meta_outputs")]),
        ("f(Tensor(a!)[] x) -> ()", [("OPK302", "error", "mutated tensor list 'x'")]),
        ("f(Tensor(a!)? x) -> ()", [("OPK302", "warning", "optional tensor 'x' is None")]),
        ("f(Tensor x) -> int", [("OPK303", "error", "cannot return int")]),
        ("f(Tensor(a!) x) -> Tensor[]", [("OPK303", "error", "how many tensors")]),
        ("f(Tensor(a) x) -> Tensor(a)", [("OPK303", "error", "view")]),
        ("f(Tensor x, Tensor? y, Tensor[]? z, Scalar s, ScalarType d, SymInt[]? k, str[] t) -> Tensor[]", []),
        ("f(Tensor(a!) x, Tensor(b!) y) -> ()", []),
        ("f_(Tensor(a!) x) -> Tensor(a!)", []),
    ],
)
def test_findings(func: str, expected: list[tuple[str, str, str]]) -> None:
    found = check(spec(func))
    assert [(d.code, d.severity.value) for d in found] == [(code, severity) for code, severity, _ in expected]
    for diagnostic, (_, _, text) in zip(found, expected):
        assert text in diagnostic.message
        assert diagnostic.mark is not None
        assert diagnostic.operator.startswith("f")


def test_an_operator_ge_cannot_take_gets_a_comment_with_the_reason() -> None:
    text = text_of(spec("f(Tensor x, Device d) -> Tensor"), spec("g(Tensor x) -> Tensor"))
    assert "# npu::f has no converter:\n#   GE has no type for Device" in text
    assert "convert_g" in text
    ast.parse(text)


def _with_prototype(directory: Path, func: str, **parts: list[tuple[str, str]]) -> OpSpec:
    keys = {"inputs": "input_desc", "outputs": "output_desc", "attrs": "attr"}
    operator: dict[str, Any] = {"op": "F", "language": "cpp"}
    for part, entries in parts.items():
        if part == "attrs":
            operator["attr"] = [{"name": n, "param_type": "required", "type": t} for n, t in entries]
        else:
            operator[keys[part]] = [
                {"name": n, "param_type": k, "format": ["ND"], "type": ["fp16"]} for n, k in entries
            ]
    (directory / "f.json").write_text(json.dumps([operator]), encoding="utf-8")
    return spec(func, directory, ge="{prototype: f.json, ir: F}")


def test_arguments_go_where_the_prototype_has_their_name(tmp_path: Path) -> None:
    op = _with_prototype(
        tmp_path,
        "f(Tensor x, Tensor y, int a=7, int b=9) -> Tensor",
        inputs=[("y", "required"), ("x", "required"), ("bias", "optional")],
        outputs=[("r", "required")],
        attrs=[("b", "int"), ("a", "int")],
    )
    assert check(op) == ()
    text = text_of(op)
    assert 'inputs={"y": y, "x": x, "bias": None}' in text
    assert 'attrs={"b": ge.attr.Int(b), "a": ge.attr.Int(a)}' in text


def test_a_host_value_can_feed_an_input(tmp_path: Path) -> None:
    op = _with_prototype(
        tmp_path,
        "f(Tensor x, SymInt n, int[]? k=None) -> Tensor",
        inputs=[("x", "required"), ("n", "required"), ("k", "optional")],
        outputs=[("r", "required")],
    )
    assert check(op) == ()
    text = text_of(op)
    assert '"n": _as_tensor(n, ge.DataType.DT_INT64)' in text
    assert '"k": None if k is None else _as_tensor(k, ge.DataType.DT_INT64)' in text


def test_an_input_only_the_ir_writes_is_copied_first(tmp_path: Path) -> None:
    op = _with_prototype(
        tmp_path,
        "f(Tensor cache, Tensor x) -> (Tensor, Tensor)",
        inputs=[("cache", "required"), ("x", "required")],
        outputs=[("cache", "required"), ("r", "required")],
    )
    text = text_of(op)
    assert '"cache": ge.Clone(cache)' in text
    assert "return ge.custom_op(" in text


def test_results_follow_the_schema_when_the_ir_writes_last(tmp_path: Path) -> None:
    op = _with_prototype(
        tmp_path,
        "f(Tensor(a!) x) -> (Tensor, Tensor)",
        inputs=[("x", "required")],
        outputs=[("p", "required"), ("x", "required"), ("q", "required")],
    )
    assert check(op) == ()
    assert "return outputs[0], outputs[2]" in text_of(op)


@pytest.mark.parametrize(
    ("func", "parts", "code", "severity", "text"),
    [
        # Nothing to write into: the update would be lost without an error.
        (
            "f(Tensor(a!) x) -> ()",
            {"outputs": [("z", "required")]},
            "OPK304",
            "error",
            "no result for output 'z'",
        ),
        ("f(Tensor x) -> Tensor", {"outputs": []}, "OPK304", "error", "no output for result 1"),
        ("f(Tensor x, int a) -> Tensor", {}, "OPK304", "error", "cannot be matched"),
        ("f(Tensor x) -> Tensor", {"attrs": [("a", "int")]}, "OPK304", "error", "required attribute 'a'"),
        ("f(Tensor x, float a) -> Tensor", {"attrs": [("a", "int")]}, "OPK304", "error", "is VT_INT"),
        ("f(Tensor[] x) -> Tensor", {}, "OPK304", "error", "cannot feed the required input"),
        ("f(Tensor y) -> Tensor", {}, "OPK305", "note", "y as x"),
        (
            "f(Tensor x, int p, int q) -> Tensor",
            {"attrs": [("a", "int"), ("b", "int")]},
            "OPK305",
            "warning",
            "p as a",
        ),
    ],
)
def test_a_prototype_that_does_not_fit(
    tmp_path: Path, func: str, parts: dict[str, Any], code: str, severity: str, text: str
) -> None:
    given = {"inputs": [("x", "required")], "outputs": [("r", "required")], **parts}
    found = check(_with_prototype(tmp_path, func, **given))
    assert any(d.code == code and d.severity.value == severity and text in d.message for d in found), found


def test_a_mutated_input_needs_an_output_of_its_name(tmp_path: Path) -> None:
    op = _with_prototype(
        tmp_path,
        "f(Tensor(a!) x) -> Tensor",
        inputs=[("x", "required")],
        outputs=[("r", "required")],
    )
    assert ["no output named like the input 'x'" in d.message for d in check(op)] == [True]


def test_two_operators_of_one_ir_type_are_noted() -> None:
    found = check_file(file_of(spec("f(Tensor x) -> Tensor"), spec("f_(Tensor(a!) x) -> ()")))
    assert [(d.code, d.severity.value) for d in found] == [("OPK306", "note")]
    assert not check_file(file_of(spec("f(Tensor x) -> Tensor"), spec("f.o(Tensor x) -> Tensor")))


def test_a_long_schema_is_broken_after_commas() -> None:
    arguments = ", ".join(f"Tensor the_argument_{i}" for i in range(6))
    tree = ast.parse(text_of(spec(f"my_op({arguments}) -> Tensor")))
    function = next(n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == "convert_my_op")
    lines = (ast.get_docstring(function, clean=False) or "").split("\n")
    assert lines[:2] == ["npu::my_op as a node of Ascend IR.", ""]
    assert lines[-1] == "    "
    schema = lines[2:-1]
    assert len(schema) > 1
    assert all(line.startswith("    ") and line[4] != " " and len(line) <= 100 for line in schema)
    assert all(line.endswith(",") for line in schema[:-1])
    assert " ".join(line.strip() for line in schema) == f"npu::my_op({arguments}) -> Tensor"
