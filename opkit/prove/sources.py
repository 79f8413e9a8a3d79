"""Which files decide what an operator's Python functions do: a module, and the local modules it imports.

Nothing is imported here: the text is read. What the text cannot tell (a file that is opened, a library that
is loaded, the environment) makes the list incomplete, and `Sources.problem` says so.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

# Modules whose results depend on nothing but their arguments, or on the versions of what is installed.
_PURE = """
    __future__ abc array base64 bisect collections contextlib copy dataclasses decimal enum fractions
    functools hashlib heapq inspect itertools json keyword logging math numbers operator re statistics string
    struct textwrap types typing typing_extensions unittest warnings weakref
"""
_INSTALLED = "torch torch_npu torchair numpy opkit ml_dtypes"
_KNOWN = frozenset(f"{_PURE} {_INSTALLED}".split())
# What reads something that is no Python source: builtins, and attributes of the modules above.
_READING_NAMES = frozenset({"open", "exec", "eval", "compile", "__import__", "__loader__"})
_READING_ATTRIBUTES = frozenset(
    {"environ", "getenv", "load", "load_library", "load_inline", "load_file", "hub", "fromfile", "from_file"}
    | {"memmap", "genfromtxt", "loadtxt", "cpp_extension", "import_module"}
)


@dataclass
class Sources:
    """The files, in no order that means anything."""

    files: set[Path] = field(default_factory=set)
    # Why there may be others; empty when the list is complete.
    problem: str = ""

    def add_problem(self, text: str) -> None:
        """Keep the first problem."""
        self.problem = self.problem or text


def sources(modules: Iterable[str], yaml: Path, directories: Iterable[Path] = ()) -> Sources:
    """List the files of some modules, named as a YAML file or `--import` names them.

    A `.py` file is meant relative to the YAML. Other modules are looked for beside the YAML, in
    `directories`, and where Python finds them.
    """
    found = Sources()
    path = [yaml.parent, *directories]
    for name in modules:
        if name.endswith(".py") or (yaml.parent / name).is_dir():
            _add(found, (yaml.parent / name).resolve(), path)
        else:
            _module(found, name, path, "the YAML")
    return found


def _add(found: Sources, file: Path, path: list[Path]) -> None:
    """Add a file, or all of a package, with what it imports."""
    if file.is_dir():
        for inner in sorted(file.rglob("*")):
            if inner.suffix in (".so", ".pyd"):
                found.add_problem(f"{inner.name} is compiled")
            elif inner.suffix == ".py":
                _add(found, inner, [file, *path])
        return
    if file in found.files:
        return
    if not file.is_file():
        found.add_problem(f"there is no {file}")
        return
    found.files.add(file)
    text, names, reads = _parsed(file, file.stat().st_mtime_ns)
    if not text:
        found.add_problem(f"{file.name} is no valid Python")
    for name in reads:
        found.add_problem(f"{file.name} uses `{name}`")
    for level, name in names:
        if level:
            home = file.parents[level - 1]
            _relative(found, home, name, path)
        else:
            _module(found, name, [*path, file.parent], file.name)


def _relative(found: Sources, home: Path, name: str, path: list[Path]) -> None:
    place = home.joinpath(*name.split(".")) if name else home
    for candidate in (place.with_suffix(".py"), place / "__init__.py"):
        if candidate.is_file():
            _add(found, candidate, path)
            return
    # `from . import x` where x is a name of the package: its __init__ is read anyway.
    if not (home / "__init__.py").is_file() and name:
        found.add_problem(f"there is no module {name} in {home.name}")


def _module(found: Sources, name: str, path: list[Path], who: str) -> None:
    """Add a module named by its dotted name, unless it belongs to what is installed."""
    top = name.split(".")[0]
    if top in _KNOWN:
        return
    for directory in path:
        if (directory / top).is_dir():
            _add(found, (directory / top).resolve(), path)
            return
        if (directory / f"{top}.py").is_file():
            _add(found, (directory / f"{top}.py").resolve(), path)
            return
    found.add_problem(f"{who} imports {top}")


@cache
def _parsed(file: Path, _changed: int) -> tuple[bool, tuple[tuple[int, str], ...], tuple[str, ...]]:
    """Give whether the text is valid, what it imports as (level, name), and what it uses that reads."""
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):
        return False, (), ()
    return True, tuple(_imports(tree)), tuple(dict.fromkeys(_reading(tree)))


def _imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((0, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            yield node.level, module
            if node.level:
                # `from .a import b`: b may be a module of the package a.
                prefix = f"{module}." if module else ""
                yield from ((node.level, prefix + alias.name) for alias in node.names if not module)


def _reading(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in _READING_NAMES:
            yield node.id
        elif isinstance(node, ast.Attribute) and node.attr in _READING_ATTRIBUTES:
            yield node.attr
        elif isinstance(node, ast.alias) and node.name.split(".")[-1] in _READING_ATTRIBUTES:
            yield node.name


def contents(found: Sources) -> Mapping[str, bytes]:
    """Read the files. Raises OSError."""
    return {str(file): file.read_bytes() for file in sorted(found.files)}
