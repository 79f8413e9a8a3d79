"""Tasks on NPU streams that are computed by Python, and what the stand-in has seen.

A task is what a kernel launch is on the device: it runs in stream order, and while its stream is being captured it is
stored in the captured model and runs on each replay. A task may hold addresses (`cpu_view`) but should not hold NPU
tensors, because a kernel on the device does not keep its memory alive either.
"""

from __future__ import annotations

import itertools
import threading
from collections import deque
from dataclasses import dataclass
from typing import Callable

from opkit.cann.library import StandIn, standin

# ACL_ERROR_RT_AICORE_EXCEPTION: what a kernel that faults on the device answers.
_TASK_FAILED = 507015
_KEPT_FAILURES = 256


@dataclass(frozen=True)
class Event:
    """One thing the stand-in did or refused; `kind` is listed in native/opkit_standin.h under opkit_journal_take."""

    kind: str
    name: str
    model: int = 0  # id of the captured model, 0 outside of one
    code: int = 0  # ACL code of a refusal
    reason: str = ""


@dataclass(frozen=True)
class TaskFailure:
    """An exception that a task raised, kept because a replay can only answer with a code."""

    name: str
    error: BaseException


@dataclass(frozen=True)
class _Task:
    name: str
    run: Callable[[], None]


class _Tasks:
    """The callables behind the tokens that the stand-in holds."""

    def __init__(self, library: StandIn) -> None:
        self._library = library
        self._tokens = itertools.count(1)
        self._tasks: dict[int, _Task] = {}
        self._by_token: dict[int, BaseException] = {}
        self.failures: deque[TaskFailure] = deque(maxlen=_KEPT_FAILURES)
        library.set_task_runner(self._run)
        library.set_task_releaser(self._release)

    def submit(self, name: str, run: Callable[[], None], stream: int) -> None:
        token = next(self._tokens)
        self._tasks[token] = _Task(name, run)
        code = self._library.launch(name, token, stream)
        error = self._by_token.pop(token, None)
        if error is not None:
            raise error
        if code:
            raise RuntimeError(_refusal(self._library, name, code))

    def _run(self, token: int) -> int:
        task = self._tasks[token]
        try:
            task.run()
        except BaseException as error:
            self.failures.append(TaskFailure(task.name, error))
            self._by_token[token] = error
            self._library.set_error(f"task {task.name} failed: {type(error).__name__}: {error}")
            return _TASK_FAILED
        return 0

    def _release(self, token: int) -> None:
        self._tasks.pop(token, None)

    def __len__(self) -> int:
        return len(self._tasks)


_lock = threading.Lock()
_tasks: _Tasks | None = None


def _table() -> _Tasks:
    global _tasks
    with _lock:
        if _tasks is None:
            _tasks = _Tasks(standin())
    return _tasks


def launch(name: str, run: Callable[[], None] | None) -> None:
    """Submits a task to the current NPU stream: it runs now, or is recorded if the stream is being captured.

    `run` None is a launch whose result nobody computes; the journal counts it as uncomputed. Raises what `run` raises
    when the task runs now, RuntimeError when the runtime refuses the launch. A task that fails in a replay makes the
    replay fail with its text; the exception itself is in `task_failures()`.
    """
    stream = current_stream()
    if run is not None:
        _table().submit(name, run, stream)
        return
    library = standin()
    code = library.launch(name, 0, stream)
    if code:
        raise RuntimeError(_refusal(library, name, code))


def current_stream() -> int:
    """The handle of the current NPU stream of this thread."""
    import torch_npu

    handle: int = torch_npu.npu.current_stream().npu_stream
    return handle


def is_capturing() -> bool:
    """Whether the current NPU stream is being captured."""
    return standin().stream_is_capturing(current_stream())


def journal() -> list[Event]:
    """What happened since the last call, oldest first. An event of kind "dropped" says that older ones were lost."""
    return [
        Event(
            kind=str(entry["event"]),
            name=str(entry.get("name", "")),
            model=int(entry.get("model", 0)),
            code=int(entry.get("code", 0)),
            reason=str(entry.get("reason", "")),
        )
        for entry in standin().journal_take()
    ]


def captured_tasks(model_id: int) -> list[str]:
    """The names of the tasks of a captured model, in order. Raises LookupError if there is no such model."""
    names = standin().model_tasks(model_id)
    if names is None:
        raise LookupError(f"no captured model {model_id}")
    return list(names)


def task_failures() -> list[TaskFailure]:
    """The exceptions that tasks raised since the last call, oldest first."""
    table = _table()
    failures = []
    while table.failures:
        failures.append(table.failures.popleft())
    return failures


def live_tasks() -> int:
    """How many Python tasks captured models still hold."""
    return len(_table())


def _refusal(library: StandIn, name: str, code: int) -> str:
    return f"the launch of {name} was refused with code {code}: {library.recent_error()}"
