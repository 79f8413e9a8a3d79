"""Which wheels belong together, and what the stand-in may be told to be."""

from __future__ import annotations

from pathlib import Path

import pytest

from opkit.cann import load
from opkit.cann.errors import StandInError, WheelError
from opkit.cann.settings import SOC_ALIASES, SOCS, Settings, read_settings
from opkit.cann.wheels import Wheel, check_match, wanted_torch


def _pair(torch: str, torch_npu: str, *requires: str) -> tuple[Wheel, Wheel]:
    return Wheel("torch", torch, Path()), Wheel("torch_npu", torch_npu, Path(), requires)


@pytest.mark.parametrize(
    ("torch", "torch_npu", "requires"),
    [
        ("2.13.0+cpu", "2.13.0", ["torch==2.13.0.*"]),
        ("2.13.1+cpu", "2.13.0", ["torch==2.13.0.*"]),
        ("2.7.1+cpu", "2.7.1.post11", []),
        ("2.7.1", "2.7.1.post11", ["numpy", "torch (==2.7.1)"]),
        ("2.6.0", "2.6.0rc1", []),
    ],
)
def test_wheels_of_one_release_belong_together(torch: str, torch_npu: str, requires: list[str]) -> None:
    check_match(*_pair(torch, torch_npu, *requires))


def test_a_mismatch_names_both_versions_and_the_command() -> None:
    with pytest.raises(WheelError) as caught:
        check_match(*_pair("2.6.0+cpu", "2.7.1.post11"))
    assert (
        "torch_npu 2.7.1.post11 needs torch 2.7.1, but torch 2.6.0+cpu is installed" in caught.value.message
    )
    assert "pip install torch==2.7.1" in caught.value.help


def test_the_pinned_torch_comes_from_the_metadata() -> None:
    assert wanted_torch(_pair("", "2.7.1.post11", "torch==2.7.0")[1]) == "2.7.0"


def test_settings_have_defaults_and_short_names() -> None:
    assert read_settings({}) == Settings()
    read = read_settings(
        {
            "OPKIT_SOC": "310P",
            "OPKIT_DEVICES": "2",
            "OPKIT_DEVICE_MEMORY_GIB": "0.5",
            "OPKIT_KERNELS": "aclnnB, aclnnA",
        }
    )
    assert read == Settings("Ascend310P3", 2, "8.5.0", 0.5, ("aclnnA", "aclnnB"))


def test_settings_go_through_the_environment_unchanged() -> None:
    settings = Settings("Ascend910B3", 4, "8.3.RC1", 64.0, ("aclnnMine",))
    assert read_settings(settings.environment()) == settings


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OPKIT_SOC", "Ascend1"), ("OPKIT_DEVICES", "0"), ("OPKIT_DEVICES", "two"), ("OPKIT_CANN", "new"),
        ("OPKIT_DEVICE_MEMORY_GIB", "0"), ("OPKIT_DEVICE_MEMORY_GIB", "-1"), ("OPKIT_KERNELS", "MyOp"),
    ],
)  # fmt: skip
def test_a_setting_that_cannot_be_is_refused_with_its_name(name: str, value: str) -> None:
    with pytest.raises(StandInError) as caught:
        read_settings({name: value})
    assert value in caught.value.message
    assert caught.value.help


def test_short_names_stand_for_known_socs() -> None:
    assert set(SOC_ALIASES.values()) <= set(SOCS)


def test_cann_without_a_device_leaves_the_stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPKIT_STAND_IN", raising=False)
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    (tmp_path / "lib64").mkdir()
    (tmp_path / "lib64" / "libascendcl.so").touch()
    monkeypatch.setenv("ASCEND_HOME_PATH", str(tmp_path))
    assert load.find_cann() == tmp_path / "lib64"
    monkeypatch.setattr(load, "has_device", lambda: False)
    assert load.choose_stand_in()
    monkeypatch.setattr(load, "has_device", lambda: True)
    assert not load.choose_stand_in()
    assert load.choose_stand_in(True)
    monkeypatch.setenv("OPKIT_STAND_IN", "1")
    assert load.choose_stand_in()


def test_the_stand_in_is_not_taken_for_cann(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("libascendcl.so", "libopkit_standin.so"):
        (tmp_path / name).touch()
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    for name in ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME", "OPKIT_STAND_IN"):
        monkeypatch.delenv(name, raising=False)
    assert load.find_cann() is None
    with pytest.raises(StandInError, match="not installed"):
        load.choose_stand_in(False)
