"""What the pytest plugin needs once a suite uses it: proofs made once, and the tests of a YAML file."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from opkit.errors import OpkitError
from opkit.prove.plan import InvalidDeclaration, Plan, requests
from opkit.prove.protocol import HOLDS, MODES, ModeResult, OperatorResult, Proof
from opkit.testing import prove

_OPTIONS = ("op", "mode", "style", "namespace", "package", "imports", "timeout")


class Proofs:
    """The proofs of one pytest run, each made once; pytest-xdist's workers share a folder of them."""

    def __init__(self, folder: str | None = None) -> None:
        self._folder = Path(folder) if folder is not None and os.path.isdir(folder) else None
        self._own: Path | None = None
        self._known: dict[str, Proof | OpkitError] = {}

    def share(self) -> Path:
        """Give the folder for workers to share, made on the first call."""
        if self._own is None:
            self._own = Path(tempfile.mkdtemp(prefix="opkit-pytest-"))
        return self._own

    def close(self) -> None:
        """Remove the folder if it was made here."""
        if self._own is not None:
            shutil.rmtree(self._own, ignore_errors=True)

    def prove(self, path: Any, **options: Any) -> Proof:
        """Prove as `opkit.testing.prove` does, once for the same arguments. Raises what it raises."""
        text = repr((os.getcwd(), path, sorted(options.items())))
        key = hashlib.sha256(text.encode()).hexdigest()
        if key not in self._known:
            self._known[key] = self._shared(key, path, options) if self._folder else _made(path, options)
        found = self._known[key]
        if isinstance(found, OpkitError):
            raise found
        return found

    def _shared(self, key: str, path: Any, options: dict[str, Any]) -> Proof | OpkitError:
        """Take the proof from the folder, or make it while the other workers wait for it."""
        assert self._folder is not None
        with (self._folder / key).open("a+", encoding="utf-8") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            stream.seek(0)
            text = stream.read()
            if text:
                return _from_json(json.loads(text))
            made = _made(path, options)
            stream.write(json.dumps(_to_json(made)))
            stream.flush()
            return made


def _made(path: Any, options: dict[str, Any]) -> Proof | OpkitError:
    try:
        return prove(path, **options)
    except OpkitError as error:
        return error


def _to_json(made: Proof | OpkitError) -> dict[str, Any]:
    if isinstance(made, OpkitError):
        return {"error": [_told(made), made.help]}
    return made.to_json()


def _from_json(value: dict[str, Any]) -> Proof | OpkitError:
    return OpkitError(*value["error"]) if "error" in value else Proof.from_json(value)


def _told(error: OpkitError) -> str:
    """Give an error's message, with the findings about the YAML if it is about them."""
    if not isinstance(error, InvalidDeclaration):
        return error.message
    from opkit.report.diagnostics import render

    return f"{error.message}\n{render(error.diagnostics).rstrip()}"


def check(proof: Proof) -> Proof:
    """Fail the test unless every operator enters; return the proof."""
    if not proof.enters:
        texts = [
            _broken(op, mode) for op in proof.operators for mode in op.modes if mode.verdict not in HOLDS
        ]
        pytest.fail("\n\n".join(texts) or proof.explain(), pytrace=False)
    return proof


def _broken(operator: OperatorResult, mode: ModeResult) -> str:
    """Say why an operator does not enter, where it is declared, and how to see that again."""
    lines = [
        f"{operator.name} [{operator.style}, case {operator.case}] {mode.mode}: {mode.verdict}",
        *(f"  {line}" for line in mode.reason.splitlines()),
    ]
    if operator.line:
        lines.append(f"declared at {_short(operator.file)}:{operator.line}")
    if operator.command:
        lines.append(f"reproduce:  {operator.reproduce(mode.mode)}")
    return "\n".join(lines)


def _short(file: str) -> str:
    path = os.path.relpath(file)
    return file if path.startswith("..") else path


def proof_of(proofs: Proofs, item: pytest.Item, marker: pytest.Mark) -> Proof:
    """Make the proof that a marker asks for; its file is relative to the test's.

    Raises pytest.UsageError for a marker that cannot be understood, OpkitError as `opkit.testing.prove` does.
    """
    unknown = sorted(set(marker.kwargs) - set(_OPTIONS))
    if len(marker.args) != 1 or unknown:
        what = f"unknown {', '.join(unknown)}" if unknown else f"{len(marker.args)} files"
        raise pytest.UsageError(
            f"{item.nodeid}: @pytest.mark.opkit takes one file and {', '.join(_OPTIONS)}; found {what}"
        )
    options = dict(marker.kwargs)
    for name, plural in (("op", "operators"), ("mode", "modes"), ("style", "styles")):
        if options.get(name) is not None:
            options[plural] = _listed(options[name])
        options.pop(name, None)
    return proofs.prove(str(item.path.parent / marker.args[0]), **options)


def _listed(value: str | Sequence[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def demand(proofs: Proofs, item: pytest.Item, marker: pytest.Mark) -> None:
    """Fail the test unless what a marker asks for enters."""
    try:
        check(proof_of(proofs, item, marker))
    except OpkitError as error:
        pytest.fail(f"{_told(error)}\nhelp: {error.help}" if error.help else _told(error), pytrace=False)


@dataclass(frozen=True)
class _Wanted:
    """What one collected test is about."""

    operator: str
    case: str
    mode: str
    # "library" or "custom-op" as asked for; None for a package, which has the style it was generated in.
    style: str | None

    def find(self, proof: Proof) -> tuple[OperatorResult, ModeResult] | None:
        """Find the result; one of the user's own module counts for the style it stands in for."""
        for operator in proof.operators:
            if (operator.name, operator.case) == (self.operator, self.case) and (
                self.style in (None, operator.style) or operator.style == "import"
            ):
                for mode in operator.modes:
                    if mode.mode == self.mode:
                        return operator, mode
        return None


class OperatorFile(pytest.File):
    """The tests of one YAML file."""

    def collect(self) -> Iterator[OperatorItem]:
        """Give a test for each operator, case, style and mode."""
        from opkit.prove.plan import read

        try:
            plan = self._plan()
            work = requests(plan)
            lines = {spec.name: spec.mark.line for spec in read(str(self.path)).operators}
        except OpkitError as error:
            raise self.CollectError(f"{_told(error)}\nhelp: {error.help}") from None
        for _, operator, case in work[0].subjects:
            for request in work:
                style = None if request.package else request.style
                wanted = _Wanted(operator, case, request.mode, style)
                name = f"{operator}[{'-'.join(filter(None, (request.mode, style, case)))}]"
                yield OperatorItem.from_parent(self, name=name, wanted=wanted, line=lines.get(operator, 0))

    def _plan(self, *operators: str) -> Plan:
        option = self.config.option
        return Plan(
            files=(str(self.path),),
            operators=operators,
            modes=tuple(mode for mode in MODES if mode in option.opkit_mode) or MODES,
            styles=tuple(dict.fromkeys(option.opkit_style)) or None,
            namespace=option.opkit_namespace,
            package=option.opkit_package,
            imports=tuple(option.opkit_import),
            timeout=option.opkit_timeout,
        )

    def proof(self) -> Proof:
        """Prove what the selected tests of the file need, in one go: workers are started once for all."""
        from opkit.pytest_plugin import proofs

        items = [
            item for item in self.session.items if isinstance(item, OperatorItem) and item.parent is self
        ]
        wanted = [item.wanted for item in items]
        plan = self._plan()
        return proofs(self.config).prove(
            str(self.path),
            operators=tuple(dict.fromkeys(one.operator for one in wanted)),
            modes=tuple(mode for mode in plan.modes if any(one.mode == mode for one in wanted)),
            styles=plan.styles,
            namespace=plan.namespace,
            package=plan.package,
            imports=plan.imports,
            timeout=plan.timeout,
        )


class Broken(Exception):
    """An operator does not enter; the text says why and how to see it again."""


class OperatorItem(pytest.Item):
    """One operator with one case enters one graph in one style."""

    def __init__(self, wanted: _Wanted, line: int, **options: Any) -> None:
        super().__init__(**options)
        self.wanted, self.line = wanted, line
        self.add_marker("opkit")

    def runtest(self) -> None:
        """Look the result up; the first test of a file makes the proof."""
        assert isinstance(self.parent, OperatorFile)
        proof = self.parent.proof()
        found = self.wanted.find(proof)
        if found is None:
            pytest.skip(self._why_not(proof))
        operator, mode = found
        if mode.verdict not in HOLDS:
            raise Broken(_broken(operator, mode))

    def _why_not(self, proof: Proof) -> str:
        """Say why the proof left this style out, as its notes do."""
        about = (
            op for op in proof.operators if (op.name, op.case) == (self.wanted.operator, self.wanted.case)
        )
        notes = dict.fromkeys(note for op in about for mode in op.modes for note in mode.notes)
        told = [note for note in notes if note.startswith("not proved in")]
        return "; ".join(told) or f"not proved in {self.wanted.style} style"

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *args: Any, **options: Any) -> Any:
        """Show the reason alone; the traceback would be opkit's."""
        error = excinfo.value
        if isinstance(error, OpkitError):
            return f"{_told(error)}\nhelp: {error.help}" if error.help else _told(error)
        return str(error) if isinstance(error, Broken) else super().repr_failure(excinfo, *args, **options)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Point at the declaration."""
        return self.path, self.line - 1 if self.line else None, self.name
