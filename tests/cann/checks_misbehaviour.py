"""Host code that misbehaves in a capture in less usual ways, and host code that only seems to."""

import io
import threading

import torch
from checks_refusals import define, names, refused, stream

from opkit.cann.library import standin

STREAM = ("aclrtSynchronizeStreamWithTimeout", 107027)
COPY = ("aclrtSynchronizeStream", 107027)
PINNED = torch.ones(2, 3).pin_memory()


def elapsed_time(x):
    start, end = (torch.npu.Event(enable_timing=True) for _ in range(2))
    start.record()
    end.record()
    start.elapsed_time(end)


def on_a_side_stream(x, waits=True):
    side = torch.npu.Stream()
    side.wait_stream(torch.npu.current_stream())
    with torch.npu.stream(side):
        y = x + 1
    y.record_stream(torch.npu.current_stream())
    if waits:
        torch.npu.current_stream().wait_stream(side)


def nested(x):
    with torch.npu.graph(torch.npu.NPUGraph(), stream=torch.npu.Stream()):
        x + 1


def branch(x):
    if (x == x).all():
        return


def check_values_that_the_host_asks_for():
    asks = {
        "list": (lambda x: x.tolist(), *COPY),
        "array": (lambda x: x.cpu().numpy(), *COPY),
        "saves": (lambda x: torch.save(x, io.BytesIO()), *COPY),
        "from_a_list": (lambda x: torch.tensor([1.0, 2.0], device="npu"), *COPY),
        "pinned_but_waits": (lambda x: x.copy_(PINNED), *COPY),
        "host_index": (lambda x: x.index_put((torch.tensor([0]),), x[0]), *COPY),
        "prints": (str, *STREAM),
        "branches": (branch, *STREAM),
        "equals": (lambda x: torch.equal(x, x), *STREAM),
        "close": (lambda x: torch.allclose(x, x), *STREAM),
        "slices": (lambda x: x[: int(x.sum())], *STREAM),
    }
    for name, (work, function, code) in asks.items():
        names(f"values_{name}", work, function, code)


def check_sizes_that_depend_on_values():
    asks = {
        "nonzero": torch.nonzero,
        "where": lambda x: torch.where(x > 0),
        "argwhere": torch.argwhere,
        "masked_select": lambda x: torch.masked_select(x, x > 0),
        "mask": lambda x: x[x > 0],
        "mask_written": lambda x: x.clone().__setitem__(x > 0, 1.0),
        "unique": torch.unique,
        "bincount": lambda x: torch.bincount(x.long().flatten()),
        "one_hot": lambda x: torch.nn.functional.one_hot(x.long()),
    }
    for name, work in asks.items():
        names(f"sizes_{name}", work, *STREAM)


def check_device_events_and_streams():
    names("frees", lambda x: torch.npu.empty_cache(), "aclrtSynchronizeDeviceWithTimeout", 107027)
    names("nests", nested, "aclrtSynchronizeDeviceWithTimeout", 107027)
    names("measures", elapsed_time, "aclrtSynchronizeEvent", 107028)
    names("asks_the_stream", lambda x: torch.npu.current_stream().query(), "aclrtStreamQuery", 107027)
    names("asks_another", lambda x: torch.npu.Stream().query(), "aclrtStreamQuery", 107030)


def check_work_that_is_never_waited_for():
    leaves = define("leaves", lambda x: on_a_side_stream(x, waits=not capturing()))
    said = refused(leaves, torch.ones(2, 3).npu())
    assert said[0].startswith("aclmdlRICaptureEnd (code 107025): "), said
    assert "(called by refused::leaves)" in said[0], said


def check_an_operator_that_swallows_its_error():
    def swallow(x):
        try:
            x.sum().item()
        except RuntimeError:
            return

    x = torch.ones(2, 3).npu()
    said = refused(define("swallows", lambda x: swallow(x) if capturing() else None), x)
    end = [text for text in said if text.startswith("aclmdlRICaptureEnd")]
    assert end, said
    assert "(called by refused::swallows)" in end[0], said


def check_another_thread():
    def wait(x):
        thread = threading.Thread(target=torch.npu.synchronize)
        thread.start()
        thread.join()

    said = refused(define("elsewhere", lambda x: wait(x) if capturing() else None), torch.ones(2, 3).npu())
    assert said[0].startswith("aclrtSynchronizeDeviceWithTimeout (code 107027): "), said


def check_what_a_capture_allows():
    allowed = {
        "side_stream": on_a_side_stream,
        "to_pinned": lambda x: PINNED.copy_(x, non_blocking=True),
        "from_pinned": lambda x: x.clone().copy_(PINNED, non_blocking=True),
        "statistics": lambda x: torch.npu.memory_stats(),
        "device": lambda x: torch.npu.set_device(0),
        "large": lambda x: torch.empty(1 << 22, device="npu"),
        "random": lambda x: torch.rand(2, 3, device="npu"),
        "index": lambda x: x.index_copy(0, torch.arange(1, device="npu"), x[:1]),
        "split": lambda x: torch.tensor_split(x, torch.tensor([1])),
    }
    for name, work in allowed.items():
        said = refused(define(f"allowed_{name}", work), torch.ones(2, 3).npu())
        assert said == [], (name, said)


def check_replays_draw_new_numbers():
    x, graph = torch.ones(1000).npu(), torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        y = torch.nn.functional.dropout(x, 0.5)
    seen = []
    for _ in range(3):
        graph.replay()
        seen.append(y.cpu())
        assert set(y.cpu().tolist()) == {0.0, 2.0}
    assert not torch.equal(seen[0], seen[1])
    assert not torch.equal(seen[1], seen[2])


def capturing():
    return standin().is_capturing(stream())
