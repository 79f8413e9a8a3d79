"""What `cache_compile` makes of one operator and case, here or out of an artifact of another process."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from opkit.errors import OpkitError
from opkit.model.operator import Case
from opkit.prove import capture, ge_trace
from opkit.prove.exhibits import ge_nodes
from opkit.prove.stages.npugraph_ex import call_compiled
from opkit.prove.subject import Run, Subject, on_npu
from opkit.prove.values import Inputs

# What torchair and npugraph_ex call the file of an artifact.
_FILE = "compiled_module"
# The class that `cache_compile` keeps when it found no artifact and compiles.
_MISS = "ModelCacheSaver"
# What GE says on the stand-in when nothing interprets its graphs.
_NO_INTERPRETER = "only when an interpreter is set"


@dataclass
class Observation:
    """What two calls of a cached function did."""

    # Whether an artifact was taken; None before the first call.
    hit: bool | None = None
    # The captured tasks, or the nodes of the GE graph; None where the runtime does not tell.
    graph: list[Any] | None = None
    # Both calls; empty where GE has no interpreter to run the graph.
    runs: list[Run] = field(default_factory=list)
    # How often Dynamo compiled.
    compiles: int = 0
    # What npugraph_ex or torchair warned of.
    warnings: list[str] = field(default_factory=list)
    problem: str = ""


@dataclass(frozen=True)
class Handover:
    """What the process that made an artifact leaves for the one that takes it."""

    directory: str
    # The digest of the artifact's file.
    digest: str
    graph: list[Any] | None
    runs: list[Run]
    case: Case
    # What the host stage found out about the operator.
    signed: bool
    random: bool
    uncomputed: list[str]
    style: str


def home(folder: str, file: str, operator: str, case: str) -> Path:
    """Give the directory of one operator and case: all artifacts of a model class have one name."""
    key = hashlib.sha256("\0".join((file, operator, case)).encode()).hexdigest()
    return Path(folder) / key[:20]


def directory_of(base: Path, subject: Subject) -> str:
    """Give what a user would give as `cache_dir`."""
    import opkit

    try:
        return opkit.cache_dir(base, subject.operator)
    except OpkitError:
        # Its Meta kernel is C++ of a library that nobody named; the YAML stands for it.
        return opkit.cache_dir(base, subject.operator, subject.declared.op_file.path)


def cached(subject: Subject | None, mode: str, directory: str) -> Any:
    """Compile with the mode's `cache_compile`; without a subject only an artifact can give the function."""
    import torch

    model = None if subject is None else subject.model()

    class Cached(torch.nn.Module):  # type: ignore[misc, unused-ignore]
        def forward(self, *args: Any, **kwargs: Any) -> Any:
            return model(*args, **kwargs)  # type: ignore[misc]

    if mode == "ge":
        import torchair

        options = {"config": torchair.CompilerConfig()}
        return torchair.inference.cache_compile(
            Cached().forward, dynamic=False, cache_dir=directory, **options
        )
    compile_cached = torch.npu.npugraph_ex.inference.cache_compile
    return compile_cached(Cached().forward, dynamic=False, cache_dir=directory)


def artifact(directory: str) -> Path | None:
    """Find the artifact in a directory; None if there is none."""
    return next(iter(sorted(Path(directory).rglob(_FILE))), None)


def digest_of(path: Path) -> str:
    """Give the digest of an artifact's file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def observe(subject: Subject, compiled: Any, inputs: list[Inputs]) -> Observation:
    """Call with each of the inputs, in the same memory. Raises what the call raises."""
    import torch

    seen = Observation()
    torch._dynamo.reset()
    with _compiles(seen), _warnings(seen):
        if subject.setting.mode == "ge":
            _observe_ge(subject, compiled, inputs, seen)
        else:
            _observe_captures(subject, compiled, inputs, seen)
    return seen


def is_hit(compiled: Any) -> bool:
    """Tell whether a called function came from an artifact."""
    return type(compiled._compiled_model).__name__ != _MISS


def _observe_captures(subject: Subject, compiled: Any, inputs: list[Inputs], seen: Observation) -> None:
    given = on_npu(inputs[0])
    capture.forget()
    with capture.Recorder() as recorder:
        seen.runs.append(call_compiled(subject, compiled, given, "first call"))
        seen.hit = is_hit(compiled)
        first = recorder.take()
        seen.graph = first.tasks
        seen.problem = recorder.problem()
        given.copy_from(inputs[1])
        recorder.take()
        seen.runs.append(call_compiled(subject, compiled, given, "replay"))
        second = recorder.take()
    if not seen.problem and recorder.replayable != 1:
        seen.problem = f"{recorder.replayable} captured graphs with a replay function instead of one"
    if not seen.problem and second.captures:
        seen.problem = "the second call captured again instead of replaying"


def _observe_ge(subject: Subject, compiled: Any, inputs: list[Inputs], seen: Observation) -> None:
    given = on_npu(inputs[0])
    with ge_trace.Recorder() as recorder:
        trace = recorder.trace
        try:
            seen.runs.append(call_compiled(subject, compiled, given, "first call"))
        except Exception:
            if _NO_INTERPRETER not in str(trace.error):
                raise
        seen.hit = is_hit(compiled)
        if seen.runs:
            given.copy_from(inputs[1])
            seen.runs.append(call_compiled(subject, compiled, given, "second call"))
    seen.graph = [node for graph in trace.graphs for node in ge_nodes(graph)]
    if len(trace.graphs) != 1:
        seen.problem = f"{len(trace.graphs)} graphs were loaded into GE instead of one"
    elif seen.runs and trace.runs != 2:
        seen.problem = f"GE ran the graph {trace.runs} times in two calls"


@contextmanager
def _compiles(seen: Observation) -> Iterator[None]:
    from torch._dynamo.callback import callback_handler

    def count(*_: object) -> None:
        seen.compiles += 1

    callback_handler.register_start_callback(count)
    try:
        yield
    finally:
        callback_handler.remove_start_callback(count)


@contextmanager
def _warnings(seen: Observation) -> Iterator[None]:
    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            seen.warnings.append(record.getMessage().splitlines()[0])

    keep = Keep(logging.WARNING)
    loggers = [logging.getLogger(name) for name in ("torchair", "npugraph_ex")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.addHandler(keep)
        logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels):
            logger.removeHandler(keep)
            logger.setLevel(level)
