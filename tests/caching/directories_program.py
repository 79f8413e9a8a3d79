"""Prints the directory that `opkit.cache_dir` gives for variants of one operator, as JSON.

Every variant is registered in its turn by a file of the same name, so that only what is named differs.
"""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path
from typing import Any

FILES = {
    "define.py": """
import torch
library = torch.library.Library("cachetest", "FRAGMENT")
library.define("f(Tensor x, int n=1) -> Tensor")
library.define("g(Tensor x) -> Tensor")
""",
    "meta.py": """
import torch
library = torch.library.Library("cachetest", "IMPL")
library.impl("f", lambda x, n=1: torch.empty_like(x), "Meta")
""",
    "fake.py": """
import torch
library = torch.library.Library("cachetest", "FRAGMENT")
torch.library.register_fake("cachetest::g", lambda x: torch.empty_like(x), lib=library)
""",
    "convert.py": """
import torch, torchair
library = None

@torchair.register_fx_node_ge_converter(torch.ops.cachetest.f.default)
def convert(x, n=1, meta_outputs=None):
    return torchair.ge.custom_op("F", inputs={"x": x}, attrs={"n": torchair.ge.attr.Int(n)}, outputs=["y"])
""",
}
# What is changed, each in one of the files alone.
VARIANTS = {
    "same": ("", ""),
    "again": ("", ""),
    "schema": ("f(Tensor x, int n=1)", "f(Tensor x, int n=2)"),
    "meta": ("n=1: torch.empty_like(x)", "n=1: torch.empty_like(x, dtype=torch.int8)"),
    "fake": ("lambda x: torch.empty_like(x)", "lambda x: torch.zeros_like(x)"),
    "converter": ('custom_op("F"', 'custom_op("G"'),
}
YAML = """custom:
  - func: h(Tensor x) -> Tensor
    meta: {python: "rule.py:h"}
    reference: reference.py:h
"""


def main(directory: Path) -> dict[str, Any]:
    from opkit.cann.load import ensure_runtime

    ensure_runtime(True)
    import torch
    import torch_npu
    import torchair

    import opkit
    from opkit.errors import OpkitError

    torchair.get_npu_backend(compiler_config=torchair.CompilerConfig())
    found: dict[str, Any] = {}
    for name, (old, new) in VARIANTS.items():
        package = directory / name / "ops"
        libraries = register(package, old, new)
        found[name] = opkit.cache_dir("base", torch.ops.cachetest.f, "cachetest::g")
        found[f"{name} as a path"] = opkit.cache_dir("base", package)
        for library in libraries:
            library._destroy()
    same = directory / "same" / "ops"
    kept_alive = register(same, "", "")
    torch_npu.__version__, kept = "0.0", torch_npu.__version__
    found["version"] = opkit.cache_dir("base", same)
    torch_npu.__version__ = kept
    found.update(yaml(directory / "yaml"))
    for name, what in {
        "nothing": (),
        "unknown": ("cachetest::none",),
        "a number": (1,),
        "no file": (directory / "none.py",),
        "overload": ("cachetest::f.none",),
    }.items():
        try:
            found[name] = opkit.cache_dir("base", *what)
        except OpkitError as error:
            found[name] = f"error: {error}"
    # A Meta kernel of torch_npu's wheel: its version stands for it.
    found["wheel"] = opkit.cache_dir("base", torch.ops.npu.npu_rms_norm)
    del kept_alive
    return found


def register(package: Path, old: str, new: str) -> list[Any]:
    """Write the files with one thing changed, and run them; give the libraries that hold the operators."""
    package.mkdir(parents=True, exist_ok=True)
    changed, libraries = [], []
    for name, text in FILES.items():
        changed += [name] if old and old in text else []
        (package / name).write_text(text.replace(old, new) if old else text)
        libraries.append(runpy.run_path(str(package / name))["library"])
    assert len(changed) == bool(old)
    return [library for library in reversed(libraries) if library is not None]


def yaml(directory: Path) -> dict[str, str]:
    """Give the directories of a YAML file, with changes to the files that it names, one after the other."""
    import opkit

    directory.mkdir()
    files = {"ops.yaml": YAML, "rule.py": "def h(x): ...\n", "reference.py": "def h(x): ...\n"}
    for name, text in files.items():
        (directory / name).write_text(text)
    found = {"yaml": opkit.cache_dir("base", directory / "ops.yaml")}
    for name in files:
        with (directory / name).open("a") as stream:
            stream.write("# changed\n")
        found[f"yaml, {name}"] = opkit.cache_dir("base", directory / "ops.yaml")
    return found


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]))))
