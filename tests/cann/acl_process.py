"""Calls to the ACL interface from a fresh process, as C code would make them: no torch is imported."""

from __future__ import annotations

import os
import re
import tempfile
import textwrap
import traceback

from standin_process import check_python, run_python

FORK = "OPKIT_TESTS_FORK"  # set: a check runs in a fork of the test process

PRELUDE = """
import ctypes, threading
from opkit.cann.library import GeOutput, standin
s = standin()
acl = ctypes.CDLL("libascendcl.so")
GLOBAL, THREAD_LOCAL, RELAXED = 0, 1, 2
acl.aclrtSetDevice(0)
acl.aclGetRecentErrMsg.restype = ctypes.c_char_p

def made(function, *arguments):
    out = ctypes.c_void_p()
    code = getattr(acl, function)(ctypes.byref(out), *arguments)
    assert code == 0, (function, code)
    return out

def stream(): return made("aclrtCreateStream")
def device(values):
    data = made("aclrtMalloc", ctypes.c_size_t(len(values)), 0)
    acl.aclrtMemcpy(data, len(values), bytes(values), ctypes.c_size_t(len(values)), 1)
    return data
def host(values):
    data = made("aclrtMallocHost", ctypes.c_size_t(len(values)))
    ctypes.memmove(data, bytes(values), len(values))
    return data
def read(data, n): return list(ctypes.string_at(data, n))
def copy(dst, src, n, on):
    return acl.aclrtMemcpyAsync(dst, ctypes.c_size_t(n), src, ctypes.c_size_t(n), 3, on)
def begin(on, mode=GLOBAL): return acl.aclmdlRICaptureBegin(on, mode)
def end(on):
    model = ctypes.c_void_p()
    return acl.aclmdlRICaptureEnd(on, ctypes.byref(model)), model
def replay(model, on): return acl.aclmdlRIExecuteAsync(model, on)
def error(): return acl.aclGetRecentErrMsg().decode()
def refusals(): return [(e.name, e.code) for e in s.take_journal() if e.event == "refuse"]
"""


def check(code: str, **variables: str) -> None:
    text = PRELUDE + textwrap.dedent(code)
    if FORK in os.environ:
        _check_in_a_fork(text, variables)
    else:
        check_python(text, variables)


def leaks(code: str) -> list[str]:
    """What code leaked of the stand-in's memory, told by LeakSanitizer where that is loaded.

    Python's own leaks are many: LeakSanitizer does not look into the arenas that hold its objects.
    """
    done = run_python(PRELUDE + textwrap.dedent(code) + _REPORT)
    assert done.returncode == 0, done.stderr
    return [leak for leak in done.stderr.split("\n\n") if _OURS.search(leak)]


_REPORT = """
report = getattr(ctypes.CDLL(None), "__lsan_do_recoverable_leak_check", None)
if report is not None: report()
"""
# One of the first frames, the allocator and who called it, is the stand-in's.
_OURS = re.compile(r" leak of [^\n]*(\n +#\d [^\n]*){0,4}\n +#[0-4] [^\n]*(opkit_standin|/cann/native/)")


def _check_in_a_fork(code: str, variables: dict[str, str]) -> None:
    """What a fresh process does, in a copy of this one: under sanitizers the start is what takes long."""
    with tempfile.TemporaryFile("w+") as said:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                os.environ.update(variables)
                os.dup2(said.fileno(), 1)
                os.dup2(said.fileno(), 2)
                exec(compile(code, "<check>", "exec"), {"__name__": "__main__"})
                status = 0
            except BaseException:
                os.write(2, traceback.format_exc().encode())
            finally:
                os._exit(status)
        _, ended = os.waitpid(child, 0)
        said.seek(0)
        assert ended == 0, said.read()
