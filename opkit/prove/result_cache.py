"""Results of earlier proofs, taken instead of proving again when nothing that decides them has changed.

Only for the stand-in: what a real CANN computes depends on drivers and installed kernels that no key can
name. A result whose key cannot be complete is not kept, and neither is one that a death, a time-out or a lack
of memory had a part in. Every result that is taken says so in the report. Imports no torch.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from hashlib import sha256
from pathlib import Path
from typing import Any

from opkit.cann.cache import cache_root, require_private
from opkit.errors import OpkitError
from opkit.files import write_atomically
from opkit.model.operator import OpFile
from opkit.prove.collect import Collector, Subject
from opkit.prove.environment import environment
from opkit.prove.fingerprint import code, declaration
from opkit.prove.protocol import Request
from opkit.prove.sources import contents, sources

_DAY = 86400.0
_UNUSED_AFTER = 30 * _DAY
# Parts of a request that change nothing about one result: what else is proved, and a place for files.
_NO_OPTIONS = ("subjects", "company", "files", "artifacts")
# What a stage says when the machine was too small for it: no finding about the operator.
_OF_THE_MACHINE = ("MemoryError", "out of memory", "No space left", "Too many open files")


@dataclass
class ResultCache:
    """The kept results of one proof's operators."""

    files: Mapping[str, OpFile]
    # The digest of what is the same for all operators.
    shared: str
    root: Path = field(default_factory=lambda: cache_root() / "results")
    # Why an operator's results are not kept: name -> reason.
    not_kept: dict[str, str] = field(default_factory=dict)
    _code: dict[tuple[str, str], str] = field(default_factory=dict)

    def split(self, requests: Sequence[Request]) -> tuple[list[Collector], list[Request]]:
        """Take what is kept, as finished collectors; give the requests for what is left."""
        taken, left = [], []
        for request in requests:
            found = {s: record for s in request.subjects if (record := self._read(request, s)) is not None}
            if found:
                taken.append(_filled(replace(request, subjects=tuple(found)), found))
            rest = tuple(subject for subject in request.subjects if subject not in found)
            left += [replace(request, subjects=rest)] if rest else []
        return taken, left

    def keep(self, collectors: Iterable[Collector]) -> None:
        """Keep what workers judged to its end, and remove what nobody has asked for in a month."""
        for collector in collectors:
            self._keep(collector)
        self._prune()

    def _keep(self, collector: Collector) -> None:
        if collector.runtime is None or collector.runtime.kind != "stand-in":
            return
        runtime = {"event": "runtime", **vars(collector.runtime)}
        for subject in (s for s in collector.judged if s not in collector.alone):
            key = self._key(collector.request, subject)
            events = collector.events[subject]
            if key is None or any(text in str(events) for text in _OF_THE_MACHINE):
                continue
            record = {"proved_at": _now(), "subject": subject, "events": [runtime, *events]}
            self._write(key, record)

    def _prune(self) -> None:
        for path in self.root.glob("*/*.json"):
            try:
                if time.time() - path.stat().st_mtime > _UNUSED_AFTER:
                    path.unlink()
            except OSError:
                continue  # Another process removed it, or it is not ours to remove.

    def _read(self, request: Request, subject: Subject) -> Mapping[str, Any] | None:
        key = self._key(request, subject)
        if key is None:
            return None
        path = self._path(key)
        try:
            record: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            if tuple(record["subject"]) != subject or not record["events"]:
                return None
            if time.time() - path.stat().st_mtime > _DAY:
                os.utime(path)
        except (OSError, ValueError, KeyError, TypeError):
            return None  # None there, or half of one that somebody cut: it is proved again.
        return record

    def _write(self, key: str, record: Mapping[str, Any]) -> None:
        path = self._path(key)
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_atomically(path, json.dumps(record, default=str))
        except OSError:
            return  # A full or read-only disk: the next proof does the work again.

    def _path(self, key: str) -> Path:
        return self.root / key[:2] / f"{key}.json"

    def _key(self, request: Request, subject: Subject) -> str | None:
        """Digest everything that decides a result; None where that cannot be known."""
        file, name, _ = subject
        options = {k: v for k, v in request.to_json().items() if k not in _NO_OPTIONS}
        beside = [name]
        if request.company:
            # The operator is proved in one graph with others of its file.
            beside += [other for path, other in request.company if path == file]
        parts = [self.shared, json.dumps(options, sort_keys=True), repr(subject)]
        for other in dict.fromkeys(beside):
            text = self._operator(request, file, other)
            if text is None:
                return None
            parts.append(text)
        return sha256("\0".join(parts).encode()).hexdigest()

    def _operator(self, request: Request, file: str, name: str) -> str | None:
        """Give declaration and code of an operator as a digest."""
        if (file, name) not in self._code:
            op_file = self.files[file]
            spec = op_file.operator(name)
            assert spec is not None, f"{file} has no operator {name}"
            found = code(spec, op_file, [Path.cwd()])
            modules = [*request.imports, *([request.package] if request.package else [])]
            imported = sources(modules, Path(file), [Path.cwd()])
            problem = found.problem or imported.problem
            if problem:
                self.not_kept[name] = problem
            held = {**contents(found), **contents(imported)}
            digest = sha256(repr((declaration(spec, op_file), sorted(held.items()))).encode()).hexdigest()
            self._code[file, name] = "" if problem else digest
        return self._code[file, name] or None


def open_cache(files: Iterable[OpFile], stand_in: bool | None) -> ResultCache | None:
    """Open the cache; None where the runtime is no stand-in, or the directory is not the user's own."""
    try:
        root = cache_root()
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        require_private(root)
        shared = environment(stand_in)
    except (OpkitError, OSError):
        return None  # The workers will say what is wrong, should it matter to them.
    if shared is None:
        return None
    return ResultCache({os.path.abspath(op_file.path): op_file for op_file in files}, shared)


def _filled(request: Request, found: Mapping[Subject, Mapping[str, Any]]) -> Collector:
    """Make a collector that knows what the records say."""
    collector = Collector(request)
    for subject, record in found.items():
        for event in record["events"]:
            collector.take(event)
        collector.proved_at[subject] = record["proved_at"]
    return collector


def _now() -> str:
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
