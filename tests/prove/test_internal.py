"""A mistake in opkit is no finding about an operator."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import opkit
from opkit.errors import OpkitError
from opkit.prove.internal import InternalError, refuse_own, unexpected
from opkit.prove.subject import first_line
from opkit.testing import prove

OWN = str(Path(opkit.__file__).parent / "prove" / "made_up.py")
MISTAKES = (
    "undefined",
    "import opkit.nowhere",
    "from opkit.errors import Nothing",
    "import opkit; opkit.nothing",
    "from opkit.errors import OpkitError; OpkitError('x').nothing",
)


def raised(code: str, file: str) -> Exception:
    """Run code that stands in `file`, and give what it raises."""
    try:
        exec(compile(code, file, "exec"), {})
    except Exception as error:
        return error
    raise AssertionError(code)


@pytest.mark.parametrize("code", MISTAKES)
def test_opkits_own_mistakes(code: str) -> None:
    with pytest.raises(InternalError, match=r"opkit itself failed: \w+Error: .* \(.*/made_up.py:1\)"):
        refuse_own(raised(code, OWN))
    with pytest.raises(InternalError):
        first_line(raised(code, OWN))


@pytest.mark.parametrize("code", [*MISTAKES, "1 / 0"])
def test_the_users_mistakes(code: str) -> None:
    error = raised(code, "/home/me/operators.py")
    assert first_line(error) == f"{type(error).__name__}: {error}"
    assert "nothing could be judged: " in unexpected(error).message
    assert "/home/me/operators.py:1" in unexpected(error).message


@pytest.mark.parametrize("code", ["1 / 0", "None.shape", "raise ValueError('no tensor')"])
def test_what_opkit_finds_out_about_the_users_values(code: str) -> None:
    refuse_own(raised(code, OWN))


def test_what_dynamo_wraps() -> None:
    wrapper = RuntimeError("backend raised")
    wrapper.__cause__ = raised("undefined", OWN)
    with pytest.raises(InternalError):
        refuse_own(wrapper)


@pytest.mark.npu
@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import opkit.prove.stages.meta as s\ndel s.fake\n", "opkit itself failed: NameError"),
        ("import sys\nsys.modules['opkit.prove.stages.meta'] = None\n", "opkit itself failed: Module"),
        ("import opkit.prove.setup as s\ns.Setup.functions = 3\n", "nothing could be judged: TypeError"),
    ],
)
def test_a_proof_says_so(tmp_path: Path, code: str, message: str) -> None:
    (tmp_path / "ops.yaml").write_text(
        "custom:\n  - func: inner(Tensor x) -> Tensor\n    meta: {out: {size: x, dtype: x}}\n"
    )
    (tmp_path / "damage.py").write_text(code)
    with pytest.raises(OpkitError) as caught:
        prove(
            tmp_path / "ops.yaml", imports=[tmp_path / "damage.py"], modes=["npugraph_ex"], styles=["library"]
        )
    assert caught.value.message.startswith(message), json.dumps(caught.value.message)
