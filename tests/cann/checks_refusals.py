"""Operators whose host code does what a capture forbids are named by the refusal."""

import ctypes

import torch
import torch_npu  # noqa: F401

from opkit.cann.library import standin
from opkit.prove import capture

acl = ctypes.CDLL("libascendcl.so")
library = torch.library.Library("refused", "DEF")


def define(name, work):
    def kernel(x):
        work(x)
        return torch.empty_like(x)

    library.define(f"{name}(Tensor x) -> Tensor")
    library.impl(name, torch.empty_like, "Meta")
    library.impl(name, kernel, "PrivateUse1")
    return getattr(torch.ops.refused, name)


def refused(call, *given, **options):
    """What the report says of a capture of two operators, of which the second misbehaves."""
    torch._dynamo.reset()
    capture.forget()

    def model(*xs):
        return torch.neg(call(*(x + 1 for x in xs)))

    try:
        with torch.no_grad(), capture.Recorder():
            torch.compile(
                model, backend="npugraph_ex", fullgraph=True, dynamic=False, options=options or None
            )(*given)
            torch.npu.synchronize()
    except Exception:
        assert torch.equal((given[0] * 2).cpu(), given[0].cpu() * 2), "the device is not usable any more"
        said = capture.refusals()[0]
        if not said:
            raise  # It failed for another reason.
        return said
    return []


def names(name, work, function, code):
    """Expect the operator and the call of the runtime in the report, and nothing without the work."""
    x = torch.ones(2, 3).npu()
    said = refused(define(name, lambda x: work(x) if standin().is_capturing(stream()) else None), x)
    assert said != []
    assert said[0].startswith(f"{function} (code {code}): "), said
    assert said[0].endswith(f"(called by refused::{name})"), said
    assert refused(define(f"{name}_not", lambda x: None), x) == []


def stream():
    return torch.npu.current_stream().npu_stream


def check_item():
    names("item", lambda x: x.sum().item(), "aclrtSynchronizeStreamWithTimeout", 107027)


def check_copy_to_the_host():
    names("copies", lambda x: x.cpu(), "aclrtSynchronizeStream", 107027)


def check_wait_for_a_stream():
    wait = lambda x: torch.npu.current_stream().synchronize()  # noqa: E731
    names("waits", wait, "aclrtSynchronizeStreamWithTimeout", 107027)


def check_wait_for_the_device():
    names("waits_for_all", lambda x: torch.npu.synchronize(), "aclrtSynchronizeDeviceWithTimeout", 107027)


def check_query_of_an_event():
    def query(x):
        event = torch.npu.Event()
        event.record()
        event.query()

    names("asks", query, "aclrtQueryEventStatus", 107028)


def ends(x):
    """The first and the second element, as what a copy of one element on CANN takes."""
    return ctypes.c_void_p(x.data_ptr()), 4, ctypes.c_void_p(x.data_ptr() + 4), 4, 3


def check_synchronous_copy():
    names("copies_at_once", lambda x: acl.aclrtMemcpy(*ends(x)), "aclrtMemcpy", 107041)


def check_synchronous_fill():
    def fill(x):
        acl.aclrtMemset(ctypes.c_void_p(x.data_ptr()), 4, 0, 4)

    names("fills_at_once", fill, "aclrtMemset", 107041)


def check_default_stream():
    # CANN's own: what torch_npu calls the default stream is one that it creates.
    names("on_the_default_stream", lambda x: acl.aclrtMemcpyAsync(*ends(x), None), "aclrtMemcpyAsync", 107031)


def check_operator_that_runs_on_the_host():
    # npugraph_ex calls it in place.
    x = torch.rand(2, 3).npu()
    said = refused(torch.igamma, x, x)
    assert said != []
    assert said[0].endswith("(called by aten::igamma_)"), said


def check_other_modes_of_capture():
    copy = define("copies_in_modes", lambda x: acl.aclrtMemcpy(*ends(x)))
    x = torch.ones(2, 3).npu()
    for mode, allowed in (("global", False), ("thread_local", False), ("relaxed", True)):
        assert refused(torch.abs, x, capture_error_mode=mode) == []
        said = refused(copy, x, capture_error_mode=mode)
        assert bool(said) is not allowed, (mode, said)
        graph, y = torch.npu.NPUGraph(), torch.ones(3).npu()
        with torch.npu.graph(graph, capture_error_mode=mode):
            z = y + 1
        y.fill_(5)
        graph.replay()
        assert z.cpu().tolist() == [6, 6, 6], mode
