"""Tasks on NPU streams that are computed by Python, and what the stand-in has seen.

A task is what a kernel launch is on the device: it runs in stream order, and while its stream is being
captured it is stored in the captured model and runs on each replay. A task may hold addresses (`cpu_view`)
but should not hold NPU tensors, because a kernel on the device does not keep its memory alive either.
"""

from __future__ import annotations

import itertools
import threading
from collections import deque
from dataclasses import dataclass
from typing import Callable

from opkit.cann.errors import StandInError
from opkit.cann.library import Event, Launch, StandIn, standin
from opkit.cann.views import TaskViews

__all__ = [
    "Event",
    "Launch",
    "Task",
    "TaskFailure",
    "captured_tasks",
    "current_stream",
    "is_capturing",
    "journal",
    "launch",
    "launches",
    "live_tasks",
    "submit",
    "task_failures",
]

_KEPT_FAILURES = 256


@dataclass(frozen=True)
class TaskFailure:
    """An exception that a task raised, kept because a replay can only answer with a code."""

    name: str
    error: BaseException


@dataclass
class Task:
    """What runs at its submission, or on each replay; `run` may put something quicker in its own place.

    With `views` the memory they stand on is checked before, and marked after as what it derives from.
    """

    name: str
    run: Callable[[], object]
    views: TaskViews | None = None


class _Tasks:
    """The callables behind the tokens that the stand-in holds."""

    def __init__(self, library: StandIn) -> None:
        self._library = library
        self._tokens = itertools.count(1)
        self._tasks: dict[int, Task] = {}
        self._submitting: dict[
            int, BaseException | None
        ] = {}  # the error of tasks that run at their submission
        self.failures: deque[TaskFailure] = deque(maxlen=_KEPT_FAILURES)
        library.set_task_runner(self._run, self._release)

    def submit(self, task: Task, stream: int) -> None:
        token = next(self._tokens)
        self._tasks[token] = task
        self._submitting[token] = None
        try:
            self._library.launch(task.name, token, stream)
        except StandInError:
            error = self._submitting[token]
            if error is not None:
                raise error from None
            raise
        finally:
            del self._submitting[token]

    def _run(self, tokens: list[int]) -> tuple[int, BaseException | None]:
        import torch

        if not torch.is_grad_enabled():
            return self._run_in_order(tokens)
        with torch.no_grad():  # a kernel records no gradient
            return self._run_in_order(tokens)

    def _run_in_order(self, tokens: list[int]) -> tuple[int, BaseException | None]:
        # Every line of the loop counts: a replay is this loop.
        tasks, library, done = self._tasks, self._library, 0
        frees = library.frees
        try:
            for token in tokens:
                task = tasks[token]
                views = task.views
                if views is None:
                    task.run()
                else:
                    if views.alive_at != frees:
                        views.require_alive(task.name)
                    task.run()
                    if library.taint_ranges.value:
                        views.carry_marks()
                done += 1
        except BaseException as error:
            self.failures.append(TaskFailure(tasks[tokens[done]].name, error))
            if tokens[done] in self._submitting:
                self._submitting[tokens[done]] = error
            return done, error
        return done, None

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


def launch(name: str, run: Callable[[], object] | None, index: int | None = None) -> None:
    """Submits a task to the current NPU stream; it runs now, or is recorded in an open capture.

    `run` None is a launch whose result nobody computes; the journal counts it as uncomputed. Raises what
    `run` raises when the task runs now, StandInError when the runtime refuses the launch. A task that fails
    in a replay makes the replay fail with its text; the exception itself is in `task_failures()`.
    """
    if run is None:
        standin().launch(name, 0, current_stream(index))
    else:
        submit(Task(name, run), index)


def submit(task: Task, index: int | None = None) -> None:
    """Submits a task as `launch` does."""
    _table().submit(task, current_stream(index))


def current_stream(index: int | None = None) -> int:
    """The handle of this thread's current NPU stream on a device, by default the current device."""
    import torch_npu

    raw = getattr(torch_npu._C, "_npu_getCurrentRawStream", None)
    if raw is None:
        return int(torch_npu.npu.current_stream(index).npu_stream)
    torch_npu.npu._lazy_init()
    current = torch_npu._C._npu_getDevice()
    if index is None or index == current:
        return int(raw(current))
    with torch_npu.npu.device(index):  # a device has no streams until it was the current one
        return int(raw(index))


def is_capturing(index: int | None = None) -> bool:
    """Whether the current NPU stream of a device is being captured."""
    return standin().is_capturing(current_stream(index))


def journal() -> list[Event]:
    """What happened since the last call, oldest first; "dropped" says that older events were lost."""
    return standin().take_journal()


def launches() -> list[Launch]:
    """The kernels that host code launched since the last call, oldest first, with what each was given.

    At most the newest 4096. Kernels that Python computes are in the journal and not here.
    """
    return standin().take_launches()


def captured_tasks(model_id: int) -> list[str]:
    """The names of the tasks of a captured model, in order. Raises LookupError if there is no such model."""
    names = standin().model_tasks(model_id)
    if names is None:
        raise LookupError(f"no captured model {model_id}")
    return names


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
