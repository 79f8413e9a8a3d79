"""Write the generated parts of every sample: `python samples/generate.py [--check]`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SAMPLES = Path(__file__).resolve().parent

# sample -> (the package's directory, its style).
PACKAGES = {
    "my_op": ("my_op_ops", "library"),
    "my_inplace": ("my_inplace_ops", "library"),
    "custom_op_my_op": ("mylib_my_op", "custom-op"),
    "custom_op_my_inplace": ("mylib_my_inplace", "custom-op"),
}


def scripts(sample: str) -> dict[str, str]:
    """Give the run scripts of a sample: file name -> text."""
    from opkit.emit.mre import MODES, emit
    from opkit.read import read_file

    op_file, diagnostics = read_file(SAMPLES / sample / "ops.yaml")
    assert op_file is not None, diagnostics
    package = PACKAGES[sample][0]
    return {f"run_{mode}.py": emit(op_file.operators[0], mode, "npu", package) for mode in MODES}


def main(check: bool) -> int:
    stale = 0
    for sample, (package, style) in PACKAGES.items():
        command = [sys.executable, "-m", "opkit", "gen", "ops.yaml", "-o", package, "--style", style]
        stale |= subprocess.run(command + ["--check"] * check, cwd=SAMPLES / sample).returncode
        for name, text in scripts(sample).items():
            path = SAMPLES / sample / name
            if path.exists() and path.read_text(encoding="utf-8") == text:
                continue
            print(f"{'stale' if check else 'wrote'}: {sample}/{name}")
            if check:
                stale = 1
            else:
                path.write_text(text, encoding="utf-8")
    return stale


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
