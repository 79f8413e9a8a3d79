"""Leaves out work of torch's compiler that a worker has no use for and that decides nothing."""

from __future__ import annotations


def without_guard_timing() -> None:
    """Do not time the guards of every compiled frame.

    torch 2.13's `torch._dynamo.guards` flushes the processor's caches and runs the guards once, only to log
    how long they take; the flush takes a third of the compile of a single operator.
    """
    from torch._dynamo import guards

    if hasattr(guards, "profile_guard_manager"):
        guards.profile_guard_manager = lambda *_: 0.0
