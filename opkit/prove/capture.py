"""Sees npugraph_ex's captures: the AclGraph objects torch_npu makes, and the tasks the stand-in recorded."""

from __future__ import annotations

import importlib
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from opkit.prove.observe import events, runtime_library

# The device's code for an internal error: the stand-in's task raised. No runtime call has it during capture.
_TASK_FAILED = 500000
RUNTIME_MODULE = "npugraph_ex._acl_concrete_graph.acl_graph"


@dataclass(frozen=True)
class Seen:
    """What happened since the last look."""

    # Captures by npugraph_ex of an FX graph for one graph key.
    captures: int
    # Names of the tasks that went into captured models; None where the runtime does not tell.
    tasks: list[str] | None
    # Names of the tasks of the models that were replayed, once for each replay.
    replayed: list[str]
    # Names of the tasks that ran: those of replays, and those launched outside of any graph.
    ran: list[str]


class Recorder:
    """Keeps the AclGraph objects that capture while it is entered."""

    def __init__(self) -> None:
        self.graphs: list[Any] = []
        self._captures = 0

    def __enter__(self) -> Recorder:
        self._class = _acl_graph_class()
        self._original = original = self._class.capture
        recorder = self

        def capture(graph: Any, *args: Any, **kwargs: Any) -> Any:
            if all(graph is not known for known in recorder.graphs):
                recorder.graphs.append(graph)
            recorder._captures += 1
            with _naming():
                return original(graph, *args, **kwargs)

        self._class.capture = capture
        return self

    def __exit__(self, *_: object) -> None:
        self._class.capture = self._original

    @property
    def replayable(self) -> int:
        """Count the captured graphs that have a replay function; a failed capture leaves one without."""
        metas = [meta for graph in self.graphs for meta in graph._graphs_meta.values()]
        return sum(meta.replay_func is not None for meta in metas)

    def problem(self) -> str:
        """Say what went wrong without an exception: a fall-back to eager, or nothing captured."""
        if not self.graphs:
            return "npugraph_ex captured nothing: the compiled function never reached a capture"
        if any(graph.fallback_to_eager for graph in self.graphs):
            return "npugraph_ex fell back to eager (capture_limit)"
        return ""

    def take(self) -> Seen:
        """Give what happened since the last call."""
        captures, self._captures = self._captures, 0
        seen = events()
        if seen is None:
            return Seen(captures, None, [], [])
        from opkit.cann.device import captured_tasks

        replays = [event.model for event in seen if event.event == "replay"]
        return Seen(
            captures=captures,
            tasks=[event.name for event in seen if event.event == "record"],
            replayed=[task for model in replays for task in captured_tasks(model)],
            ran=[event.name for event in seen if event.event == "launch"],
        )


def _acl_graph_class() -> Any:
    """Import npugraph_ex, which torch_npu does on first use, and give its AclGraph."""
    import npugraph_ex  # type: ignore[import-not-found, unused-ignore]

    _ = npugraph_ex.CompilerConfig
    return importlib.import_module(RUNTIME_MODULE).AclGraph


def _naming() -> AbstractContextManager[Any]:
    """Let what the runtime refuses name the operator of the captured graph whose host code called it.

    An operator that torch_npu runs on the host would otherwise be known by its copies.
    """
    from torch.utils._python_dispatch import TorchDispatchMode

    library = runtime_library()
    if library is None:
        return nullcontext()

    named = library.operator

    class Naming(TorchDispatchMode):  # type: ignore[misc, unused-ignore]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            with named(func.name()):
                return func(*args, **(kwargs or {}))

    mode: AbstractContextManager[Any] = Naming()
    return mode


def forget() -> None:
    """Drop what was seen so far, so that the next look shows only what comes now."""
    events()


def launches() -> tuple[bool, list[str]]:
    """Tell whether the device ran anything since the last look, and which of it the stand-in did not compute.

    Real CANN does not tell: it ran something, and computed it.
    """
    seen = events()
    if seen is None:
        return True, []
    uncomputed = [event.name for event in seen if event.event == "uncomputed"]
    return bool(uncomputed) or any(event.event == "launch" for event in seen), uncomputed


def refusals() -> tuple[list[str], list[str]]:
    """List what went wrong since the last look: runtime calls that were refused, and tasks that failed.

    A refused call is given as function, code, why and whose host code it was, a task as its name and what it
    raised.
    """
    refused, tasks = [], []
    for event in events() or ():
        if event.event == "refuse" and event.code == _TASK_FAILED:
            tasks.append(f"{event.name}: {event.reason.removeprefix('OpkitError: ')}")
        elif event.event == "refuse":
            by = f" (called by {event.operator})" if event.operator else ""
            refused.append(f"{event.name} (code {event.code}): {event.reason}{by}")
    return refused, tasks
