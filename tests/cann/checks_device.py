"""Tasks on streams, and CPU views; run by test_device.py."""

import gc

import torch
import torch_npu  # noqa: F401

from opkit.cann import device
from opkit.cann.errors import StandInError
from opkit.cann.views import POISON, WRITE_MARK, cpu_view, fill_bytes, has_write_mark, is_uncomputed
from opkit.errors import OpkitError


def raised(kind, run):
    try:
        run()
    except kind as error:
        return error
    raise AssertionError(f"no {kind.__name__}")


def capture(body):
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph, stream=torch.npu.Stream()):
        body()
    return graph


def check_view_shares_memory():
    x = torch.arange(12.0).view(3, 4).npu()
    for tensor in (x, x.t(), x[1:, ::2], x.view(-1)[5:], x[0, 0]):
        view = cpu_view(tensor)
        assert view.device.type == "cpu"
        assert (view.size(), view.stride(), view.storage_offset()) == (
            tensor.size(),
            tensor.stride(),
            tensor.storage_offset(),
        )
        assert torch.equal(view, tensor.cpu())
    cpu_view(x)[2, 3] = -1.0
    assert x.cpu()[2, 3].item() == -1.0


def check_view_of_every_dtype():
    for dtype in (
        torch.float16,
        torch.bfloat16,
        torch.float64,
        torch.int8,
        torch.bool,
        torch.complex64,
        torch.uint8,
    ):
        x = torch.tensor([[1, 0, 1], [0, 1, 1]]).to(dtype)
        view = cpu_view(x.npu())
        assert view.dtype is dtype
        assert torch.equal(view, x)


def check_view_of_nothing():
    view = cpu_view(torch.empty(0, 3).npu())
    assert view.size() == (0, 3)


def check_view_keeps_conjugate_bit():
    x = torch.tensor([1 + 2j, 3 - 4j])
    assert torch.equal(cpu_view(x.npu().conj()), x.conj())


def check_view_of_cpu_tensor_is_refused():
    assert "cpu" in str(raised(OpkitError, lambda: cpu_view(torch.ones(1))))


def check_view_made_in_inference_mode_is_writable_later():
    with torch.inference_mode():
        view = cpu_view(torch.ones(2).npu())
    view.add_(1)


def check_marks():
    x = torch.zeros(4, dtype=torch.float16).npu()
    for byte, marked in ((POISON, False), (WRITE_MARK, True)):
        fill_bytes(cpu_view(x), byte)
        assert is_uncomputed(x)
        assert has_write_mark(x) is marked
    cpu_view(x)[0] = 1
    assert not is_uncomputed(x)
    flags = torch.zeros(3, dtype=torch.bool).npu()
    fill_bytes(cpu_view(flags), WRITE_MARK)
    assert has_write_mark(flags)


def check_fresh_memory_is_poisoned():
    torch.npu.empty_cache()
    assert is_uncomputed(torch.empty(3 << 20, dtype=torch.float32, device="npu"))


def check_launch_runs_at_once():
    seen = []
    device.launch("task", lambda: seen.append(1))
    assert seen == [1]


def check_error_of_a_task_is_raised():
    device.task_failures()
    raised(ZeroDivisionError, lambda: device.launch("divides", lambda: 1 / 0))
    assert [failure.name for failure in device.task_failures()] == ["divides"]


def check_journal_names_launches():
    device.journal()
    device.launch("one", lambda: None)
    device.launch("two", None)
    events = [(event.event, event.name) for event in device.journal()]
    assert ("launch", "one") in events
    assert ("uncomputed", "two") in events


def check_captured_task_runs_on_each_replay_only():
    seen = []
    device.journal()
    graph = capture(lambda: device.launch("task", lambda: seen.append(1)))
    assert seen == []
    model = next(event.model for event in device.journal() if event.event == "record")
    assert device.captured_tasks(model) == ["task"]
    graph.replay()
    graph.replay()
    assert seen == [1, 1]


def check_capturing_is_seen():
    states = []
    capture(lambda: states.append(device.is_capturing()))
    assert [*states, device.is_capturing()] == [True, False]


def check_stream_is_that_of_torch_npu():
    stream = torch.npu.Stream()
    with torch.npu.stream(stream):
        assert device.current_stream() == stream.npu_stream


def check_tasks_of_a_dropped_graph_are_released():
    gc.collect()
    before = device.live_tasks()
    graph = capture(lambda: device.launch("task", lambda: None))
    assert device.live_tasks() == before + 1
    graph.reset()
    del graph
    gc.collect()
    assert device.live_tasks() == before


def check_failing_replay_fails_and_says_why():
    def fail():
        raise ValueError("no such luck")

    graph = capture(lambda: device.launch("fails", fail))
    device.task_failures()

    def replay():
        graph.replay()
        torch.npu.synchronize()

    said = str(raised(RuntimeError, replay))
    assert "fails" in said
    assert "no such luck" in said
    failures = device.task_failures()
    assert [(failure.name, str(failure.error)) for failure in failures] == [("fails", "no such luck")]


def check_task_in_a_broken_capture_is_refused():
    def body():
        raised(RuntimeError, torch.npu.synchronize)
        raised(StandInError, lambda: device.launch("late", lambda: None))

    raised(RuntimeError, lambda: capture(body))
    device.launch("after", lambda: None)


def check_unknown_model():
    raised(LookupError, lambda: device.captured_tasks(10**9))
