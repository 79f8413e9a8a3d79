"""`--changed-since REV`: the operators whose declaration is another one than at a git revision. No torch."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from opkit.errors import OpkitError
from opkit.model.operator import OpFile, OpSpec
from opkit.prove.fingerprint import code, declaration, prototype_file
from opkit.prove.sources import sources
from opkit.read import read_file


def changed(files: Iterable[OpFile], revision: str, imports: Iterable[str] = ()) -> set[tuple[str, str]]:
    """List the operators, as (absolute file, name), that are not what they were at `revision`.

    An operator is its entry as read, the prototype it names, and its Python functions with the local modules
    that those import. A change in one of `imports` (files and packages by absolute path) concerns every
    operator, and so does a YAML that git did not have at that revision.

    Raises OpkitError where there is no git, no repository or no such revision.
    """
    found = set()
    for op_file in files:
        path = Path(op_file.path).resolve()
        tree = _tree(path.parent, revision)
        own = sources(imports, path, tree.directories()).files
        everything = any(tree.differs(file) for file in own)
        before = None if everything else _before(path, op_file, tree)
        found |= {
            (os.path.abspath(op_file.path), spec.name)
            for spec in op_file.operators
            if before is None or _differs(spec, op_file, before, tree)
        }
    return found


@dataclass(frozen=True)
class _Tree:
    """The files of a repository at a revision."""

    root: Path
    commit: str

    def read(self, file: Path) -> bytes | None:
        """Give what the file held; None where it was not there."""
        try:
            name = file.resolve().relative_to(self.root)
        except ValueError:
            return None
        done = _git(self.root, "cat-file", "blob", f"{self.commit}:{name.as_posix()}")
        return done.stdout if done.returncode == 0 else None

    def directories(self) -> list[Path]:
        """List where the repository's modules are imported from; installed ones are no part of it."""
        entries = [Path(entry).resolve() for entry in ("", *sys.path)]
        own = [entry for entry in dict.fromkeys(entries) if entry.is_relative_to(self.root)]
        # A virtual environment may lie in the repository.
        return [entry for entry in own if not {"site-packages", "dist-packages"} & set(entry.parts)]

    def differs(self, file: Path) -> bool:
        """Tell whether a file that is there now holds something else than then."""
        if not file.is_relative_to(self.root):
            return False  # An installed module, say: no part of what the repository declares.
        return self.read(file) != (file.read_bytes() if file.is_file() else None)


def _tree(directory: Path, revision: str) -> _Tree:
    top = _git(directory, "rev-parse", "--show-toplevel")
    if top.returncode:
        raise OpkitError(
            f"--changed-since: {directory} is in no git repository: {_said(top)}",
            "run it in a checkout, or leave the option out",
        )
    root = Path(os.fsdecode(top.stdout).rstrip("\n")).resolve()
    commit = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if commit.returncode:
        raise OpkitError(
            f"--changed-since {revision}: {root} has no such revision",
            "name a commit, branch or tag; a shallow clone lacks the older ones (git fetch --unshallow)",
        )
    return _Tree(root, commit.stdout.decode("ascii").strip())


def _git(directory: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(["git", "-C", str(directory), *arguments], capture_output=True, check=False)
    except FileNotFoundError:
        raise OpkitError("--changed-since: git is not installed", "install git, or leave it out") from None


def _said(done: subprocess.CompletedProcess[bytes]) -> str:
    lines = done.stderr.decode("utf-8", "replace").splitlines()
    return lines[0].removeprefix("fatal: ") if lines else f"git exited with {done.returncode}"


def _before(path: Path, op_file: OpFile, tree: _Tree) -> OpFile | None:
    """Read the YAML as it was, with the prototypes it names; None where git did not have it."""
    text = tree.read(path)
    if text is None:
        return None
    with tempfile.TemporaryDirectory(prefix="opkit-revision-") as directory:
        # At the same place below the root: prototypes are named relative to the YAML.
        copy = Path(directory) / path.relative_to(tree.root)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(text)
        for spec in op_file.operators:
            prototype = prototype_file(spec, op_file)
            held = None if prototype is None else tree.read(prototype)
            if prototype is not None and held is not None:
                place = Path(directory) / prototype.relative_to(tree.root)
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(held)
        # Mistakes it had then are of no interest; an operator that could not be read is a new one.
        return read_file(str(copy))[0]


def _differs(spec: OpSpec, op_file: OpFile, before: OpFile, tree: _Tree) -> bool:
    old = before.operator(spec.name)
    if old is None or declaration(old, before) != declaration(spec, op_file):
        return True
    return any(tree.differs(file) for file in code(spec, op_file, tree.directories()).files)
