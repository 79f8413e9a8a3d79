"""{{ cookiecutter.namespace }}::{{ cookiecutter.name }} must enter every graph as it is generated in {{ cookiecutter.package }}."""

import subprocess
import sys
from pathlib import Path

import pytest
from opkit.testing import prove

PROJECT = Path(__file__).resolve().parent.parent
PACKAGE = PROJECT / "{{ cookiecutter.package }}"


@pytest.mark.parametrize("mode", {{ cookiecutter._modes | list | tojson }})
def test_{{ cookiecutter.name }}_enters_the_graph(mode):
    report = prove(PROJECT / "ops.yaml", package=PACKAGE, operators=["{{ cookiecutter.name }}"], modes=[mode])
    if not report.enters:
        pytest.fail(report.explain(), pytrace=False)


def test_generated_files_are_up_to_date():
    command = [sys.executable, "-m", "opkit", "gen", "ops.yaml", "-o", PACKAGE.name, "--check"]
    command += ["--style", "{{ cookiecutter.style }}"{% if cookiecutter.style == "library" %}, "--namespace", "{{ cookiecutter.namespace }}"{% endif %}]
    result = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True)
    if result.returncode:
        pytest.fail(result.stdout + result.stderr, pytrace=False)
