"""`opkit.cache_dir`: the same directory for the same operators, another one when anything of them changes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from directories_program import VARIANTS

pytestmark = pytest.mark.npu
PROGRAM = Path(__file__).with_name("directories_program.py")


def directories(tmp_path: Path) -> dict[str, Any]:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    environment.pop("TORCH_DEVICE_BACKEND_AUTOLOAD", None)
    done = subprocess.run(
        [sys.executable, str(PROGRAM), str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return directories(tmp_path_factory.mktemp("first"))


def test_another_process_and_place_give_the_same_directories(found: dict[str, Any], tmp_path: Path) -> None:
    again = directories(tmp_path)
    errors = [name for name, value in found.items() if value.startswith("error")]
    assert {n: v for n, v in again.items() if n not in errors} == {
        n: v for n, v in found.items() if n not in errors
    }


def test_a_changed_operator_has_another_directory(found: dict[str, Any]) -> None:
    for kind in ("", " as a path"):
        assert found[f"same{kind}"] == found[f"again{kind}"]
        changed = [found[f"{name}{kind}"] for name in VARIANTS if name != "again"]
        assert len(set(changed)) == len(VARIANTS) - 1
    assert found["same"].startswith("base" + os.sep + "opkit-")


def test_versions_are_part_of_it(found: dict[str, Any]) -> None:
    assert found["version"] != found["same as a path"]


def test_a_yaml_stands_for_the_files_it_names(found: dict[str, Any]) -> None:
    names = ["yaml", "yaml, ops.yaml", "yaml, rule.py", "yaml, reference.py"]
    assert len({found[name] for name in names}) == len(names)


def test_what_cannot_be_digested_is_an_error(found: dict[str, Any]) -> None:
    assert "no operator is given" in found["nothing"]
    assert "there is no operator cachetest::none" in found["unknown"]
    assert "1 is no module" in found["a number"]
    assert "cannot read" in found["no file"]
    assert "there is no operator cachetest::f.none" in found["overload"]
    assert found["wheel"].startswith("base")
