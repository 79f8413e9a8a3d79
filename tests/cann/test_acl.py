"""The ACL interface without torch: memory, streams, events, capture and replay, and what is refused.

Each test runs in a process of its own and calls the stand-in as C code would.
"""

from __future__ import annotations

import pytest
from standin_process import check_python

from opkit.cann.wheels import find_wheel

pytestmark = [
    pytest.mark.npu,
    pytest.mark.skipif(find_wheel("torch_npu") is None, reason="torch_npu is not installed"),
]

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
    import textwrap

    check_python(PRELUDE + textwrap.dedent(code), variables)


def test_fresh_memory_is_poisoned_and_freed_once() -> None:
    check(
        """
        data = made("aclrtMalloc", ctypes.c_size_t(16), 0)
        assert data.value % 512 == 0 and read(data, 16) == [255] * 16
        assert s.is_device_memory(data.value, 16) and not s.is_device_memory(data.value, 17)
        assert acl.aclrtFree(data) == 0 and acl.aclrtFree(data) != 0
        assert not s.is_device_memory(data.value, 1)
        """
    )


def test_device_memory_is_as_large_as_asked_for() -> None:
    check(
        """
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        big = made("aclrtMalloc", ctypes.c_size_t(3 << 20), 0)
        assert acl.aclrtGetMemInfo(0, ctypes.byref(free), ctypes.byref(total)) == 0
        assert total.value == 4 << 20 and free.value == 1 << 20, (total, free)
        out = ctypes.c_void_p()
        assert acl.aclrtMalloc(ctypes.byref(out), ctypes.c_size_t(2 << 20), 0) == 207001
        assert "OPKIT_DEVICE_MEMORY_GIB" in error()
        acl.aclrtFree(big)
        assert acl.aclrtMalloc(ctypes.byref(out), ctypes.c_size_t(2 << 20), 0) == 0
        """,
        OPKIT_DEVICE_MEMORY_GIB="0.00390625",
    )


def test_mapped_memory_works_and_is_forgotten_when_unmapped() -> None:
    check(
        """
        n = 2 << 20
        at = ctypes.c_void_p()
        size, zero = ctypes.c_size_t(n), ctypes.c_size_t(0)
        assert acl.aclrtReserveMemAddress(ctypes.byref(at), size, zero, None, 0) == 0
        part = made("aclrtMallocPhysical", ctypes.c_size_t(n), None, ctypes.c_uint64(0))
        assert acl.aclrtMapMem(at, ctypes.c_size_t(n), ctypes.c_size_t(0), part, ctypes.c_uint64(0)) == 0
        assert read(at, 4) == [255] * 4 and s.is_device_memory(at.value, n)
        assert acl.aclrtUnmapMem(at) == 0 and not s.is_device_memory(at.value, 1)
        assert acl.aclrtFreePhysical(part) == 0 and acl.aclrtReleaseMemAddress(at) == 0
        """
    )


def test_captured_copies_run_on_each_replay_and_not_before() -> None:
    check(
        """
        on, src, dst = stream(), device([1, 2, 3]), device([0, 0, 0])
        assert begin(on) == 0 and s.is_capturing(on.value)
        assert copy(dst, src, 3, on) == 0
        assert read(dst, 3) == [0, 0, 0]
        code, model = end(on)
        assert code == 0 and not s.is_capturing(on.value) and read(dst, 3) == [0, 0, 0]
        assert replay(model, on) == 0 and read(dst, 3) == [1, 2, 3]
        acl.aclrtMemcpy(src, 3, bytes([7, 8, 9]), 3, 1)
        assert replay(model, on) == 0 and read(dst, 3) == [7, 8, 9]
        ident = ctypes.c_uint32()
        assert acl.aclmdlRIGetId(model, ctypes.byref(ident)) == 0
        assert s.model_tasks(ident.value) == ["aclrtMemcpyAsync"]
        assert acl.aclmdlRIDestroy(model) == 0 and s.model_tasks(ident.value) is None
        assert replay(model, on) == 107017
        """
    )


def test_a_replayed_copy_of_freed_memory_fails() -> None:
    check(
        """
        on, src, dst = stream(), device([1]), device([0])
        begin(on); copy(dst, src, 1, on); _, model = end(on)
        acl.aclrtFree(src)
        assert replay(model, on) == 507015 and "freed" in error()
        """
    )


@pytest.mark.parametrize("mode", ["GLOBAL", "THREAD_LOCAL", "RELAXED"])
@pytest.mark.parametrize(
    ("call", "code"),
    [
        ("acl.aclrtSynchronizeStream(on)", 107027),
        ("acl.aclrtSynchronizeStreamWithTimeout(on, 10)", 107027),
        ("acl.aclrtStreamQuery(on, ctypes.byref(status))", 107027),
        ("acl.aclrtSynchronizeDevice()", 107027),
        ("acl.aclrtSynchronizeEvent(event)", 107028),
        ("acl.aclrtQueryEventStatus(event, ctypes.byref(status))", 107028),
    ],
)
def test_waiting_and_querying_lose_the_capture_in_every_mode(mode: str, call: str, code: int) -> None:
    check(
        f"""
        on, event, status = stream(), made("aclrtCreateEvent"), ctypes.c_int()
        assert begin(on, {mode}) == 0 and acl.aclrtRecordEvent(event, on) == 0
        assert {call} == {code}, error()
        assert "opkit stand-in" in error()
        name = {call!r}.split("(")[0].split(".")[1]
        assert refusals() == [(name, {code})]
        status, model = ctypes.c_int(), ctypes.c_void_p()
        acl.aclmdlRICaptureGetInfo(on, ctypes.byref(status), ctypes.byref(model))
        assert status.value == 2
        code, model = end(on)
        assert code == 507903 and not model
        # The device can be used again, and captured again.
        assert acl.aclrtSynchronizeStream(on) == 0
        src, dst = device([5]), device([0])
        assert begin(on) == 0 and copy(dst, src, 1, on) == 0
        code, model = end(on)
        assert code == 0 and replay(model, on) == 0 and read(dst, 1) == [5]
        """
    )


@pytest.mark.parametrize(
    "call",
    [
        "acl.aclrtMemcpy(a, 1, b, 1, 3)",
        "acl.aclrtMemset(a, 1, 0, 1)",
        "acl.aclrtMemcpy2d(a, 1, b, 1, 1, 1, 3)",
    ],
)
def test_synchronous_memory_calls_are_refused_unless_relaxed(call: str) -> None:
    check(
        f"""
        on, a, b = stream(), device([1]), device([2])
        for mode in (GLOBAL, THREAD_LOCAL):
            assert begin(on, mode) == 0
            assert {call} == 107041 and "not relaxed" in error()
            assert end(on)[0] == 507903
        assert begin(on, RELAXED) == 0 and {call} == 0 and end(on)[0] == 0
        # A thread that made itself relaxed may do so in a global capture.
        assert begin(on, GLOBAL) == 0
        mode = ctypes.c_int(RELAXED)
        assert acl.aclmdlRICaptureThreadExchangeMode(ctypes.byref(mode)) == 0 and mode.value == GLOBAL
        assert {call} == 0
        assert acl.aclmdlRICaptureThreadExchangeMode(ctypes.byref(mode)) == 0 and mode.value == RELAXED
        assert end(on)[0] == 0
        """
    )


def test_another_thread_disturbs_a_global_capture_only() -> None:
    check(
        """
        on, a, b = stream(), device([1]), device([2])
        def elsewhere():
            found = []
            thread = threading.Thread(target=lambda: found.append(acl.aclrtMemcpy(a, 1, b, 1, 3)))
            thread.start(); thread.join()
            return found[0]
        begin(on, THREAD_LOCAL); assert elsewhere() == 0 and end(on)[0] == 0
        begin(on, GLOBAL); assert elsewhere() == 107041 and end(on)[0] == 507903
        """
    )


def test_captured_copies_need_pinned_host_memory() -> None:
    check(
        """
        on, dst, pinned = stream(), device([0]), host([6])
        begin(on); assert copy(dst, pinned, 1, on) == 0
        code, model = end(on)
        assert code == 0 and replay(model, on) == 0 and read(dst, 1) == [6]
        begin(on); assert copy(dst, ctypes.create_string_buffer(b"x"), 1, on) == 107041
        assert end(on)[0] == 507903
        """
    )


def test_begin_and_end_are_checked() -> None:
    check(
        """
        on, other = stream(), stream()
        assert begin(None) == 107031
        assert end(on)[0] == 107029
        assert begin(on) == 0 and begin(on) == 107027
        found = []
        thread = threading.Thread(target=lambda: found.append(end(on)[0])); thread.start(); thread.join()
        assert found == [107038] and end(on)[0] == 507903
        assert begin(on, 3) == 107000
        assert acl.aclmdlRICaptureBegin(ctypes.c_void_p(12345), 0) == 107017
        """
    )


def test_work_on_the_default_stream_loses_a_capture() -> None:
    check(
        """
        on, a, b = stream(), device([1]), device([2])
        begin(on); assert copy(a, b, 1, None) == 107031
        assert end(on)[0] == 507903
        """
    )


def test_an_event_brings_another_stream_into_the_capture() -> None:
    check(
        """
        on, side, a, b = stream(), stream(), device([1]), device([0])
        fork, back = made("aclrtCreateEvent"), made("aclrtCreateEvent")
        begin(on)
        acl.aclrtRecordEvent(fork, on); assert acl.aclrtStreamWaitEvent(side, fork) == 0
        assert copy(b, a, 1, side) == 0 and read(b, 1) == [0]
        acl.aclrtRecordEvent(back, side); assert acl.aclrtStreamWaitEvent(on, back) == 0
        code, model = end(on)
        assert code == 0 and replay(model, on) == 0 and read(b, 1) == [1]
        # Without the way back the capture is not whole.
        begin(on)
        acl.aclrtRecordEvent(fork, on); acl.aclrtStreamWaitEvent(side, fork); copy(b, a, 1, side)
        assert end(on)[0] == 107025 and not s.is_capturing(side.value)
        # An event from outside cannot be waited for.
        acl.aclrtRecordEvent(fork, side)
        begin(on); assert acl.aclrtStreamWaitEvent(on, fork) == 107024
        assert end(on)[0] == 507903
        """
    )


def test_a_replay_waits_for_an_external_event_and_runs_the_updated_task() -> None:
    check(
        """
        on, side, a, b, c = stream(), stream(), device([1]), device([2]), device([0])
        gate = made("aclrtCreateEventExWithFlag", 0x20)
        begin(on)
        acl.aclrtStreamWaitEvent(on, gate); acl.aclrtResetEvent(gate, on)
        acl.aclmdlRICaptureTaskGrpBegin(on); copy(c, a, 1, on)
        group = ctypes.c_void_p()
        assert acl.aclmdlRICaptureTaskGrpEnd(on, ctypes.byref(group)) == 0
        code, model = end(on)
        assert code == 0 and replay(model, on) == 0 and read(c, 1) == [0]
        status = ctypes.c_int(); acl.aclrtStreamQuery(on, ctypes.byref(status)); assert status.value == 1
        assert acl.aclrtSynchronizeStream(on) == 107019
        assert acl.aclmdlRICaptureTaskUpdateBegin(side, group) == 0
        copy(c, b, 1, side)
        assert acl.aclmdlRICaptureTaskUpdateEnd(side) == 0 and read(c, 1) == [0]
        acl.aclrtRecordEvent(gate, side)
        assert read(c, 1) == [2] and acl.aclrtSynchronizeStream(on) == 0
        # An update that launches something else is refused.
        acl.aclmdlRICaptureTaskUpdateBegin(side, group)
        assert acl.aclmdlRICaptureTaskUpdateEnd(side) == 107040
        """
    )


def test_python_tasks_run_on_each_replay_and_are_released() -> None:
    check(
        """
        ran, released = [], []
        s.set_task_runner(ran.append, released.append)
        on = stream()
        s.launch("mine", 1, on.value)
        assert ran == [1] and released == [1]
        begin(on); s.launch("mine", 2, on.value); s.launch("none", 0, on.value)
        model_id = s.capturing_model(on.value)
        _, model = end(on)
        assert ran == [1] and released == [1] and s.uncomputed == 0
        assert s.model_tasks(model_id) == ["mine", "none"]
        s.take_journal()
        assert replay(model, on) == 0 and replay(model, on) == 0 and ran == [1, 2, 2] and s.uncomputed == 2
        events = [(e.event, e.name, e.model) for e in s.take_journal()]
        once = [("replay", "", model_id), ("launch", "mine", model_id), ("uncomputed", "none", model_id)]
        assert events == once * 2, events
        acl.aclmdlRIDestroy(model); assert released == [1, 2]
        """
    )


def test_the_tokens_of_a_lost_capture_are_released() -> None:
    check(
        """
        released = []
        s.set_task_runner(lambda token: None, released.append)
        on = stream(); begin(on); s.launch("mine", 5, on.value)
        acl.aclrtSynchronizeStream(on); assert end(on)[0] == 507903 and released == [5]
        """
    )


def test_an_exception_of_a_task_fails_its_launch_with_its_text() -> None:
    check(
        """
        def run(token): raise ValueError("wrong shape")
        s.set_task_runner(run)
        on = stream()
        try: s.launch("mine", 1, on.value)
        except Exception as problem: assert "wrong shape" in str(problem), problem
        else: raise AssertionError("no error")
        begin(on); s.launch("mine", 2, on.value); _, model = end(on)
        assert replay(model, on) != 0 and "wrong shape" in error()
        """
    )


def test_what_is_not_implemented_says_so_by_name() -> None:
    check(
        """
        assert acl.aclrtMemUceRepair(0, None, 0) == 207000
        assert error() == "opkit stand-in: aclrtMemUceRepair: not implemented" and error() == ""
        hccl = ctypes.CDLL("libhccl.so"); assert hccl.HcclAllReduce() == 5
        assert acl.aclprofCreateConfig() == 0
        names = ["aclrtMemUceRepair", "HcclAllReduce", "aclprofCreateConfig"]
        assert refusals() == [(name, 207000) for name in names]
        """
    )


def test_the_journal_is_bounded_and_counts_what_it_drops() -> None:
    check(
        """
        on = stream()
        for _ in range(65536 + 10): acl.aclrtMemUceRepair(0, None, 0)
        events = s.take_journal()
        assert events[0].event == "dropped" and events[0].code == 10 and len(events) == 65537
        assert s.take_journal() == []
        """
    )


def test_versions_and_socs_are_what_the_settings_say() -> None:
    check(
        """
        import json
        from opkit.cann.settings import SOCS
        acl.aclrtGetSocName.restype = ctypes.c_char_p
        assert acl.aclrtGetSocName() == b"Ascend310P3" == s.soc.encode()
        s._library.opkit_soc_names.restype = ctypes.c_char_p
        assert sorted(json.loads(s._library.opkit_soc_names())) == sorted(SOCS)
        text = ctypes.create_string_buffer(256)
        assert acl.aclsysGetVersionStr(b"runtime", text) == 0 and text.value == b"8.3.RC1"
        count = ctypes.c_uint32(); acl.aclrtGetDeviceCount(ctypes.byref(count)); assert count.value == 3
        assert acl.aclrtSetDevice(2) == 0 and acl.aclrtSetDevice(3) == 107001
        """,
        OPKIT_SOC="310P",
        OPKIT_CANN="8.3.RC1",
        OPKIT_DEVICES="3",
    )


def test_prototypes_are_refused_unless_well_formed() -> None:
    check(
        """
        s.define_ir("MyOp", [("x", "required")], [("z", "required")], [("attr1", "VT_FLOAT")])
        define = s._library.opkit_ir_define
        bad = ('', '{}', '{"op":"A"', '{"op":"A","inputs":[["x"]]}', '{"op":"A","more":[]}', '{"op":"A"} x')
        for text in map(str.encode, bad):
            assert define(text) == 107000, text
        """
    )


def test_what_a_task_submits_elsewhere_keeps_that_stream_s_order() -> None:
    check(
        """
        gate, blocked, free = made("aclrtCreateEventExWithFlag", 0x20), stream(), stream()
        a, b, c = device([1]), device([2]), device([0])
        def run(token):
            assert copy(c, b, 1, blocked) == 0       # behind the copy that waits
            assert copy(a, b, 1, free) == 0          # on its own stream: at once
            assert read(a, 1) == [2] and read(c, 1) == [0]
        s.set_task_runner(run)
        assert acl.aclrtStreamWaitEvent(blocked, gate) == 0 and copy(c, a, 1, blocked) == 0
        s.launch("mine", 1, free.value)
        acl.aclrtMemcpy(a, 1, bytes([9]), 1, 1)
        acl.aclrtRecordEvent(gate, free)
        assert read(c, 1) == [2], read(c, 1)
        """
    )
