"""torch's own parser is the judge: every schema torch has registered, through both parsers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest
from torch_schema import differences

from opkit.model.diagnostic import Mark
from opkit.read import parse_schema

pytestmark = pytest.mark.npu

MARK = Mark("schema", 1, 1)


@pytest.fixture(scope="module")
def torch() -> Any:
    return pytest.importorskip("torch")


@pytest.fixture(scope="module")
def registered() -> list[str]:
    """The schemas torch itself registers: in this process other tests may have defined operators, too."""
    script = "import json, torch; print(json.dumps([str(s) for s in torch._C._jit_get_all_schemas()]))"
    environment = {**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, check=True)
    schemas: list[str] = json.loads(done.stdout)
    return schemas


def test_registered_schemas(torch: Any, registered: list[str]) -> None:
    same = 0
    refused: dict[str, list[str]] = {}
    for text in registered:
        theirs = torch._C.parse_schema(text)
        mine, diagnostics = parse_schema(text, MARK)
        if mine is None:
            refused.setdefault(diagnostics[0].code, []).append(text)
            continue
        assert differences(mine, theirs) == [], text
        again, more = parse_schema(mine.name.qualified + mine.signature(), MARK)
        assert again is not None, more
        assert differences(again, theirs) == [], text
        same += 1
    assert same > 3500
    # What opkit refuses on purpose: type variables, variadic operators, two arguments of one name.
    assert set(refused) <= {"OPK010", "OPK011", "OPK014"}
    assert all("..." in text for text in refused.get("OPK010", []))
    assert all(parse_schema(text, MARK)[1][0].message.split("`")[1][0] == "t" for text in refused["OPK011"])
    assert len(refused.get("OPK014", [])) <= 1


@pytest.mark.parametrize(
    "text",
    [
        "f(int[2] a=[], int[2] b, Tensor c=None) -> ()",
        "f(int a=1, int b) -> ()",
        "f(int[2][] x) -> ()",
        "f(int[][2]? x) -> ()",
        "f(int?[2] x) -> ()",
        "f(int x=+1) -> ()",
        "f(int x=- 1) -> ()",
        "f(int x=007) -> ()",
        "f(int x=1_000) -> ()",
        "f(int x='a') -> ()",
        "f(Tensor? x=5) -> ()",
        "f(int?[] x=[]) -> ()",
        "f(int[2] x=None) -> ()",
        "f(int[2] x=Mean) -> ()",
        "f(int[] x=[True]) -> ()",
        "f(bool[] x=[1]) -> ()",
        "f(float[] x=[True]) -> ()",
        "f(int[] x=[1.0]) -> ()",
        "f(ScalarType[] d=[half]) -> ()",
        "f(ScalarType[2] d=half) -> ()",
        "f(ScalarType d=Float) -> ()",
        "f(ScalarType d=byte) -> ()",
        "f(int d=half) -> ()",
        "f(bool[3]? m=[True, False, True]) -> ()",
        "f(int[]? m=[1]) -> ()",
        "f(float? m=1) -> ()",
        "f(Device d='foo') -> ()",
        "f(Device d='cuda:1') -> ()",
        "f(Device? d='cpu') -> ()",
        "f(Stream s=None) -> ()",
        "f(Any s=None) -> ()",
        "f(str x='\\x41') -> ()",
        "f(str x='\\101') -> ()",
        "f(Tensor(a|*) x) -> ()",
        "f(Tensor(a! -> ) x) -> ()",
        "f(Tensor(1!) x) -> ()",
        "f(Tensor() x) -> ()",
        "f(Tensor(a0!) x) -> ()",
        "f(int x) -> (int a, int)",
        "f(int x) -> (Tensor,)",
        "f(int x) -> int[2] y",
        "f(Union(int, str) x) -> ()",
        "f(int x) -> Tensor?",
        "f(Tensor from) -> ()",
        "f(Tensor lambda) -> ()",
        "f(Tensor is) -> ()",
        "::f(int x) -> ()",
    ],
)
def test_odd_forms(torch: Any, text: str) -> None:
    try:
        theirs = torch._C.parse_schema(text)
    except RuntimeError:
        theirs = None
    mine, diagnostics = parse_schema(text, MARK)
    if theirs is None:
        assert mine is None
        assert diagnostics
    else:
        assert mine is not None, diagnostics
        assert differences(mine, theirs) == []


def test_dtype_numbers(torch: Any) -> None:
    from opkit.read.types import SCALAR_TYPES

    for name, number in SCALAR_TYPES.items():
        theirs = torch._C.parse_schema(f"f(ScalarType d={name}) -> ()")
        assert theirs.arguments[0].default_value == number, name
