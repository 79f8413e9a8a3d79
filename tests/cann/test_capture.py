"""Capture and replay by the ACL interface, and what a capture refuses."""

from __future__ import annotations

import pytest
from acl_process import check, leaks

from opkit.cann.wheels import find_wheel

pytestmark = [
    pytest.mark.npu,
    pytest.mark.skipif(find_wheel("torch_npu") is None, reason="torch_npu is not installed"),
]


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
        # Streams and events outside the capture, asked about by the thread that captures.
        ("acl.aclrtSynchronizeStream(other)", 107030),
        ("acl.aclrtStreamQuery(other, ctypes.byref(status))", 107030),
        ("acl.aclrtSynchronizeEvent(before)", 107030),
        ("acl.aclrtQueryEventStatus(before, ctypes.byref(status))", 107030),
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
        other, before = stream(), made("aclrtCreateEvent")
        acl.aclrtRecordEvent(before, other)
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
        # Nor with work given to the other stream after the way back.
        begin(on)
        acl.aclrtRecordEvent(fork, on); acl.aclrtStreamWaitEvent(side, fork); copy(b, a, 1, side)
        acl.aclrtRecordEvent(back, side); acl.aclrtStreamWaitEvent(on, back); copy(b, a, 1, side)
        assert end(on)[0] == 107025
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
        s.set_task_runner(lambda tokens: (len(tokens), ran.extend(tokens)), released.append)
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


def test_tasks_of_python_that_follow_one_another_replay_in_one_call() -> None:
    check(
        """
        calls, broken = [], ()
        def run(tokens):
            calls.append(tokens)
            good = next((i for i, token in enumerate(tokens) if token in broken), len(tokens))
            return good, None if good == len(tokens) else ValueError(f"task {tokens[good]}")
        s.set_task_runner(run)
        on, a, b = stream(), device([1]), device([2])
        begin(on)
        for token in (1, 2): s.launch(f"t{token}", token, on.value)
        copy(a, b, 1, on)
        for token in (3, 4, 5): s.launch(f"t{token}", token, on.value)
        _, model = end(on)
        assert calls == [] and replay(model, on) == 0 and calls == [[1, 2], [3, 4, 5]] and read(a, 1) == [2]
        # The first that fails ends the replay, and only what ran is in the journal.
        broken = (4,)
        s.take_journal()
        assert replay(model, on) == 500000 and "t4" in error()
        assert [e.name for e in s.take_journal() if e.event == "launch"] == ["t1", "t2", "t3", "t4"]
        """
    )


def test_the_tokens_of_a_lost_capture_are_released() -> None:
    check(
        """
        released = []
        s.set_task_runner(lambda tokens: (len(tokens), None), released.append)
        on = stream(); begin(on); s.launch("mine", 5, on.value)
        acl.aclrtSynchronizeStream(on); assert end(on)[0] == 507903 and released == [5]
        """
    )


def test_an_exception_of_a_task_fails_its_launch_with_its_text() -> None:
    check(
        """
        def run(tokens): raise ValueError("wrong shape")
        s.set_task_runner(run)
        on = stream()
        try: s.launch("mine", 1, on.value)
        except Exception as problem: assert "wrong shape" in str(problem), problem
        else: raise AssertionError("no error")
        begin(on); s.launch("mine", 2, on.value); _, model = end(on)
        assert replay(model, on) != 0 and "wrong shape" in error()
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


def test_waiting_is_refused_to_other_threads_in_a_global_capture_only() -> None:
    check(
        """
        on, other = stream(), stream()
        def elsewhere():
            found = []
            thread = threading.Thread(target=lambda: found.append(acl.aclrtSynchronizeStream(other)))
            thread.start(); thread.join()
            return found[0]
        for mode in (THREAD_LOCAL, RELAXED):
            begin(on, mode); assert elsewhere() == 0 and end(on)[0] == 0
        begin(on, GLOBAL); assert elsewhere() == 107030 and end(on)[0] == 507903
        """
    )


def test_a_refusal_names_the_operator_around_it() -> None:
    check(
        """
        on = stream(); begin(on)
        with s.operator("npu::outer"), s.operator("aten::inner"):
            acl.aclrtSynchronizeStream(on)
        assert "called by npu::outer" in error()
        end(on)
        acl.aclrtSynchronizeStream(ctypes.c_void_p(1))
        found = [(e.name, e.operator) for e in s.take_journal() if e.event == "refuse"]
        assert found == [("aclrtSynchronizeStream", "npu::outer"), ("aclmdlRICaptureEnd", ""),
                         ("aclrtSynchronizeStream", "")], found
        """
    )


def test_memory_does_not_grow_over_ten_thousand_captures_and_replays() -> None:
    check(
        """
        def kilobytes():
            lines = open("/proc/self/status").read().splitlines()
            return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))
        s.set_task_runner(lambda tokens: (len(tokens), None), lambda token: None)
        on, side, a, b = stream(), stream(), device([1] * 64), device([0] * 64)
        fork, back = made("aclrtCreateEvent"), made("aclrtCreateEvent")
        def once(token):
            assert begin(on) == 0
            s.launch("mine", token, on.value); s.launch("none", 0, on.value)
            acl.aclrtRecordEvent(fork, on); acl.aclrtStreamWaitEvent(side, fork)
            copy(b, a, 64, side)
            acl.aclrtRecordEvent(back, side); acl.aclrtStreamWaitEvent(on, back)
            code, model = end(on)
            assert code == 0 and replay(model, on) == 0 and replay(model, on) == 0
            assert acl.aclmdlRIDestroy(model) == 0
            begin(on); acl.aclrtSynchronizeStream(on); assert end(on)[0] == 507903
        for token in range(1, 6000): once(token)  # the journal fills up to its bound
        s.take_journal(); before = kilobytes()
        for token in range(6000, 16000): once(token)
        s.take_journal()
        assert kilobytes() - before < 8192, kilobytes() - before
        """
    )


def test_what_is_destroyed_is_freed() -> None:
    found = leaks(
        """
        s.set_task_runner(lambda tokens: (len(tokens), None), lambda token: None)
        def once(token):
            on, side, data = stream(), stream(), device([0] * 64)
            fork, back = made("aclrtCreateEvent"), made("aclrtCreateEvent")
            begin(on)
            acl.aclmdlRICaptureTaskGrpBegin(on); s.launch("mine", token, on.value)
            assert acl.aclmdlRICaptureTaskGrpEnd(on, ctypes.byref(ctypes.c_void_p())) == 0
            acl.aclrtRecordEvent(fork, on); acl.aclrtStreamWaitEvent(side, fork)
            copy(data, data, 64, side)
            acl.aclrtRecordEvent(back, side); acl.aclrtStreamWaitEvent(on, back)
            code, model = end(on)
            assert code == 0 and replay(model, on) == 0 and acl.aclmdlRIDestroy(model) == 0
            begin(on); s.launch("mine", token + 100, on.value); acl.aclrtSynchronizeStream(on)
            assert end(on)[0] == 507903
            for event in (fork, back): assert acl.aclrtDestroyEvent(event) == 0
            for used in (on, side): assert acl.aclrtDestroyStream(used) == 0
            assert acl.aclrtFree(data) == 0
        for token in range(1, 20): once(token)
        s.take_journal()
        """
    )
    assert found == [], found[0]
