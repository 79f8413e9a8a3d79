"""Runs the functions `check_*` of a file in a process of its own on the stand-in, and gives what each raised.

One process serves many checks, because importing torch and torch_npu costs two seconds.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import traceback
from pathlib import Path

HERE = Path(__file__).parent
_MARK = "CHECKED "


def names_of(file: str) -> list[str]:
    tree = ast.parse((HERE / file).read_text())
    return [
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("check_")
    ]


def run_checks(file: str) -> dict[str, str]:
    """Check -> "" or its traceback. A check without an entry did not finish, because the process died."""
    done = subprocess.run(
        [sys.executable, "-m", "opkit", "run", "--stand-in", str(HERE / "checking.py"), file],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    found = {}
    for line in done.stdout.splitlines():
        if line.startswith(_MARK):
            found.update(json.loads(line.removeprefix(_MARK)))
    missing = dict.fromkeys(
        names_of(file), f"the process ended with {done.returncode} before:\n{done.stderr[-3000:]}"
    )
    return {**missing, **found}


def main(file: str) -> None:
    namespace: dict[str, object] = {"__name__": Path(file).stem}
    exec(compile((HERE / file).read_text(), str(HERE / file), "exec"), namespace)
    for name in names_of(file):
        try:
            namespace[name]()  # type: ignore[operator]
            said = ""
        except BaseException:
            said = traceback.format_exc()
        print(_MARK + json.dumps({name: said}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
