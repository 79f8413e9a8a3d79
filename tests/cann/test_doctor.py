"""`opkit doctor` says what is missing and the command that mends it."""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path

import pytest
from click.testing import CliRunner

from opkit.cann import wheels
from opkit.cann.errors import WheelError
from opkit.cann.wheels import Wheel
from opkit.cli.doctor import command

HERE = (
    Wheel("torch", "2.13.0+cpu", Path("torch")),
    Wheel("torch_npu", "2.13.0", Path("torch_npu"), ("torch==2.13.0",)),
)


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Wheel]:
    """A machine with both wheels, a compiler and an empty cache; a test takes something away."""
    found = {wheel.name: wheel for wheel in HERE}
    compiler = tmp_path / "bin" / "c++"
    compiler.parent.mkdir()
    compiler.write_text("")
    compiler.chmod(0o755)
    monkeypatch.setenv("PATH", str(compiler.parent))
    monkeypatch.setenv("OPKIT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("OPKIT_STAND_IN", "1")
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr(wheels, "find_wheel", found.get)
    return found


def doctor() -> tuple[int, dict[str, dict[str, str]]]:
    done = CliRunner().invoke(command, ["--format", "json"])
    report = json.loads(done.output)
    assert report["ok"] == (done.exit_code == 0)
    return done.exit_code, {finding["name"]: finding for finding in report["findings"]}


def test_nothing_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "version", lambda name: "1")
    code, findings = doctor()
    assert code == 0
    assert not [finding for finding in findings.values() if finding["status"] == "missing"]
    assert "built for torch 2.13.0" in findings["versions"]["value"]
    shown = CliRunner().invoke(command, []).output
    assert len(shown.splitlines()) < 24  # one screen
    assert "help" not in shown


def test_no_torch_npu(machine: dict[str, Wheel]) -> None:
    del machine["torch_npu"]
    code, findings = doctor()
    assert code == 1
    assert findings["torch_npu"] == {
        "name": "torch_npu",
        "status": "missing",
        "value": "not installed",
        "fix": "pip install torch_npu==2.13.0 'opkit[npu]'",  # that of the torch which is here
    }


@pytest.mark.parametrize("absent", [("torch", "torch_npu"), ("torch",)])
def test_the_pair_is_installed_with_torch_first(machine: dict[str, Wheel], absent: tuple[str, ...]) -> None:
    for name in absent:
        del machine[name]
    torch = "pip install torch==2.13.0 --index-url https://download.pytorch.org/whl/cpu"
    pair = f"{torch}, then pip install torch_npu==2.13.0 'opkit[npu]'"
    _, findings = doctor()
    assert {findings[name]["fix"] for name in absent} == {pair}
    with pytest.raises(WheelError) as caught:
        wheels.find_wheels()
    assert caught.value.help == pair


def test_no_torch_names_the_one_that_torch_npu_needs(machine: dict[str, Wheel]) -> None:
    del machine["torch"]
    code, findings = doctor()
    assert code == 1
    assert "torch==2.13.0" in findings["torch"]["fix"]


def test_a_torch_of_another_version(machine: dict[str, Wheel]) -> None:
    machine["torch"] = Wheel("torch", "2.12.1", Path("torch"))
    code, findings = doctor()
    assert code == 1
    assert "needs torch 2.13.0, but torch 2.12.1" in findings["versions"]["value"]
    assert "pip install torch==2.13.0" in findings["versions"]["fix"]


def test_an_untested_pair_is_a_note(machine: dict[str, Wheel]) -> None:
    machine["torch"] = Wheel("torch", "2.7.1", Path("torch"))
    machine["torch_npu"] = Wheel("torch_npu", "2.7.1.post11", Path("torch_npu"), ("torch==2.7.1",))
    assert doctor()[1]["versions"]["status"] == "note"


def test_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    code, findings = doctor()
    assert code == 1
    assert findings["compiler"]["status"] == "missing"
    assert "apt-get install g++" in findings["compiler"]["fix"]


def test_a_cache_for_everybody(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache").chmod(0o777)
    code, findings = doctor()
    assert code == 1
    assert "everybody may write" in findings["cache"]["value"]
    assert "chmod o-w" in findings["cache"]["fix"]


def test_a_missing_package_of_torchair(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        if name == "protobuf":
            raise metadata.PackageNotFoundError(name)
        return "1"

    monkeypatch.setattr(metadata, "version", version)
    code, findings = doctor()
    assert code == 1
    assert findings["torchair needs"]["fix"] == "pip install protobuf"


def test_a_wrong_setting_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPKIT_SOC", "Ascend1")
    code, findings = doctor()
    assert code == 1
    assert "Ascend1" in findings["soc"]["value"]


@pytest.mark.parametrize(
    ("home", "opp", "text"),
    [
        ("nowhere", "opp", "there is no such directory"),
        ("home", "", "ASCEND_OPP_PATH names no directory"),
        ("home", "opp", "which has no compiler"),
        ("complete", "opp", ""),
    ],
)
def test_a_toolkit_that_torch_npu_would_refuse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: str, opp: str, text: str
) -> None:
    for part in ("home/runtime", "complete/runtime", "complete/compiler", "opp"):
        (tmp_path / part).mkdir(parents=True)
    monkeypatch.setattr(metadata, "version", lambda name: "1")
    monkeypatch.setenv("ASCEND_HOME_PATH", str(tmp_path / home))
    monkeypatch.setenv("ASCEND_OPP_PATH", str(tmp_path / opp) if opp else "")
    code, findings = doctor()
    assert code == 0  # The stand-in goes without it.
    assert ("toolkit" in findings) == bool(text)
    if text:
        assert findings["toolkit"]["status"] == "note"
        assert text in findings["toolkit"]["value"]
        assert "unset ASCEND_HOME_PATH" in findings["toolkit"]["fix"]
