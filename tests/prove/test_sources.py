"""Which files decide what a function does, and when that cannot be known."""

from __future__ import annotations

from pathlib import Path

import pytest

from opkit.prove.sources import sources


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "ops.yaml").write_text("")
    return tmp_path


def found(folder: Path, *modules: str, text: str = "") -> tuple[list[str], str]:
    if text:
        (folder / "code.py").write_text(text)
    made = sources(modules or ("code.py",), folder / "ops.yaml")
    return sorted(str(file.relative_to(folder)) for file in made.files), made.problem


def test_imports_are_followed(folder: Path) -> None:
    (folder / "a.py").write_text("import math\nfrom b import thing\n")
    (folder / "b.py").write_text("import a\nthing = 1\n")
    assert found(folder, text="import torch\nimport a\n") == (["a.py", "b.py", "code.py"], "")


def test_a_package_is_all_of_it(folder: Path) -> None:
    (folder / "pkg" / "inner").mkdir(parents=True)
    (folder / "pkg" / "__init__.py").write_text("from .one import f\nfrom . import inner\n")
    (folder / "pkg" / "one.py").write_text("from .inner.two import g\n")
    (folder / "pkg" / "inner" / "__init__.py").write_text("")
    (folder / "pkg" / "inner" / "two.py").write_text("from ..one import f\n")
    everything = ["pkg/__init__.py", "pkg/inner/__init__.py", "pkg/inner/two.py", "pkg/one.py"]
    assert found(folder, "pkg.one") == (everything, "")
    assert found(folder, str(folder / "pkg")) == (everything, "")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("import os\n", "code.py imports os"),
        ("from pathlib import Path\n", "code.py imports pathlib"),
        ("import random\n", "code.py imports random"),
        ("import scipy\n", "code.py imports scipy"),
        ("def f(x):\n    import nowhere\n", "code.py imports nowhere"),
        ("table = open('t').read()\n", "code.py uses `open`"),
        ("import torch\ntable = torch.load('t')\n", "code.py uses `load`"),
        ("import torch\ntorch.ops.load_library('x.so')\n", "code.py uses `load_library`"),
        ("import numpy\nt = numpy.fromfile('t')\n", "code.py uses `fromfile`"),
        ("from torch.utils import cpp_extension\n", "code.py uses `cpp_extension`"),
        ("exec('1')\n", "code.py uses `exec`"),
        ("def f(:\n", "code.py is no valid Python"),
    ],
)
def test_what_the_text_cannot_tell(folder: Path, text: str, problem: str) -> None:
    assert found(folder, text=text) == (["code.py"], problem)


def test_compiled_modules(folder: Path) -> None:
    (folder / "pkg").mkdir()
    (folder / "pkg" / "__init__.py").write_text("")
    (folder / "pkg" / "fast.cpython-311-x86_64-linux-gnu.so").write_text("")
    assert found(folder, text="import pkg\n")[1] == "fast.cpython-311-x86_64-linux-gnu.so is compiled"


def test_a_file_that_is_not_there(folder: Path) -> None:
    assert found(folder, "nothere.py")[1] == f"there is no {folder}/nothere.py"
