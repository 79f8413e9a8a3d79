"""The invariants of ARCHITECTURE.md that can be read off the imports."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "opkit"

# package -> the opkit packages it may import at module level. Data flows one way.
ALLOWED = {
    "model": {"model"},
    "read": {"read", "model", "shape", "files", "errors"},
    "shape": {"shape", "model"},
    "against": {"against", "read", "model", "shape", "errors"},
    "rules": {"rules", "model", "shape", "emit"},
    "emit": {"emit", "model", "shape", "files", "errors"},
    "report": {"report", "model", "prove", "audit"},
}
TORCH_FREE = ("against", "model", "read", "rules", "shape", "emit", "report", "cli")
HEAVY = {"torch", "torch_npu", "torchair"}


def _imports(path: Path, everywhere: bool) -> set[str]:
    """Collect the modules a file imports: at module level only, or everywhere in it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = ast.walk(tree) if everywhere else iter(_module_level(tree))
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def _module_level(tree: ast.Module) -> list[ast.stmt]:
    """List statements that run at import, leaving out `if TYPE_CHECKING:` blocks."""
    found: list[ast.stmt] = []
    pending: list[ast.stmt] = list(tree.body)
    while pending:
        node = pending.pop()
        found.append(node)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, (ast.If, ast.Try, ast.With)):
            pending += [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)]
    return found


def _files(package: str) -> list[Path]:
    return sorted((PACKAGE / package).rglob("*.py"))


@pytest.mark.parametrize("package", sorted(ALLOWED))
def test_a_package_imports_only_what_lies_upstream(package: str) -> None:
    for path in _files(package):
        used = {m.split(".")[1] for m in _imports(path, everywhere=True) if m.startswith("opkit.")}
        assert used - {"__version__"} <= ALLOWED[package], f"{path} imports {used - ALLOWED[package]}"


@pytest.mark.parametrize("package", TORCH_FREE)
def test_a_torch_free_package_imports_no_torch_when_imported(package: str) -> None:
    for path in _files(package):
        used = {m.split(".")[0] for m in _imports(path, everywhere=False)}
        assert not used & HEAVY, f"{path} imports {used & HEAVY} at module level"


@pytest.mark.parametrize("package", ["against", "model", "read", "rules", "emit"])
def test_no_function_of_the_front_half_imports_torch(package: str) -> None:
    for path in _files(package):
        used = {m.split(".")[0] for m in _imports(path, everywhere=True)}
        assert not used & HEAVY, f"{path} imports {used & HEAVY}"


def test_emit_reads_no_yaml() -> None:
    for path in _files("emit"):
        assert not {"yaml", "opkit.read"} & _imports(path, everywhere=True), path


def test_read_never_prints() -> None:
    for path in _files("read"):
        calls = [n for n in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(n, ast.Call)]
        assert not [c for c in calls if isinstance(c.func, ast.Name) and c.func.id == "print"], path


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["check", "--help"], ["gen", "--help"], ["import", "--help"], ["prove", "--help"]],
)
def test_help_never_imports_torch(arguments: list[str]) -> None:
    code = (
        "import sys\n"
        "from opkit.cli.main import main\n"
        "try:\n"
        f"    main({arguments!r})\n"
        "except SystemExit:\n"
        "    pass\n"
        "sys.exit(any(m == 'torch' or m.startswith('torch_npu') for m in sys.modules))\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def test_files_keep_one_purpose() -> None:
    long = {
        str(p): n
        for p in PACKAGE.rglob("*.py")
        if (n := len(p.read_text(encoding="utf-8").splitlines())) > 420
    }
    assert not long


def test_test_files_have_names_of_their_own() -> None:
    names = [path.name for path in Path(__file__).parent.rglob("test_*.py")]
    assert len(names) == len(set(names)), "pytest imports test files by their bare name"
