"""Calls to the ACL interface from a fresh process, as C code would make them: no torch is imported."""

from __future__ import annotations

import textwrap

from standin_process import check_python

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
    check_python(PRELUDE + textwrap.dedent(code), variables)
