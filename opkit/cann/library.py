"""The stand-in's C interface (native/opkit_standin.h) as typed Python."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from opkit.cann.build import CORE
from opkit.cann.errors import StandInError
from opkit.cann.load import ensure_runtime

_TaskFn = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.POINTER(ctypes.c_uint64), ctypes.c_size_t)
_ReleaseFn = ctypes.CFUNCTYPE(None, ctypes.c_uint64)
_ReadFn = ctypes.CFUNCTYPE(None, ctypes.c_char_p)
_InfoFn = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
_RemoveFn = ctypes.CFUNCTYPE(None, ctypes.c_uint64)
_FAILED = 1


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("bytes", ctypes.c_size_t),
        ("dtype", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("dims", ctypes.POINTER(ctypes.c_int64)),
    )


_RunFn = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_uint64, ctypes.POINTER(_Tensor), ctypes.c_size_t, ctypes.POINTER(_Tensor),
    ctypes.c_size_t, ctypes.c_void_p,
)  # fmt: skip


@dataclass(frozen=True)
class Event:
    """One entry of the stand-in's journal; `event` is one of the words listed in native/opkit_standin.h."""

    event: str
    name: str
    model: int
    code: int
    reason: str
    operator: str = ""  # whose host code made the call, where it is known


@dataclass(frozen=True)
class Launch:
    """A kernel of CANN's that host code launched.

    Its name, the model it was captured into (0 if none), and the tensors, scalars and lists it was given,
    described as native/opkit_standin.h says.
    """

    name: str
    model: int
    arguments: tuple[dict[str, object], ...]


@dataclass(frozen=True)
class GeTensor:
    """A tensor given to a GE graph: address, bytes, ge::DataType and dimensions."""

    data: int
    bytes: int
    dtype: int
    dims: tuple[int, ...]


@dataclass(frozen=True)
class GeOutput:
    """The dtype (ge::DataType) and dimensions of a graph output; -1 is known only at run time."""

    dtype: int
    dims: tuple[int, ...]


class GeCall:
    """One run of a GE graph: the outputs that the caller allocated, and the way to allocate the others.

    `outputs[i]` is None, or `i` is beyond its end, where the interpreter has to allocate.
    """

    def __init__(self, library: ctypes.CDLL, handle: int, outputs: tuple[GeTensor, ...]) -> None:
        self._library, self._handle = library, handle
        self.outputs = tuple(output if output.data else None for output in outputs)

    def allocate(self, index: int, dtype: int, dims: Sequence[int], nbytes: int) -> int:
        """Allocate output `index` on the device and give its address.

        Raises:
            StandInError: the caller has allocated this output, or there is no memory.
        """
        array = (ctypes.c_int64 * len(dims))(*dims)
        data = self._library.opkit_ge_allocate_output(self._handle, index, dtype, array, len(dims), nbytes)
        if not data:
            raise StandInError(
                f"cannot allocate {nbytes} bytes for graph output {index}, or its caller has done so"
            )
        return int(data)


class StandIn:
    """The loaded stand-in. One object for each process: use `standin()`."""

    def __init__(self, path: str) -> None:
        self._library = ctypes.CDLL(path)
        self._callbacks: dict[str, object] = {}  # ctypes does not keep what C holds
        # How many ranges of memory hold values that nobody computed, or that derive from such.
        self.taint_ranges = ctypes.c_uint64.in_dll(self._library, "opkit_taint_ranges")
        self._frees = ctypes.c_uint64.in_dll(self._library, "opkit_frees")
        signatures: dict[str, tuple[object, list[object]]] = {
            "opkit_launch": (ctypes.c_int, [ctypes.c_char_p, ctypes.c_uint64, ctypes.c_void_p]),
            "opkit_check_launch": (ctypes.c_int, [ctypes.c_char_p, ctypes.c_void_p]),
            "opkit_stream_is_capturing": (ctypes.c_int, [ctypes.c_void_p]),
            "opkit_capturing_model": (ctypes.c_uint64, [ctypes.c_void_p]),
            "opkit_uncomputed_count": (ctypes.c_uint64, []),
            "opkit_uncomputed_launches": (ctypes.c_uint64, []),
            "opkit_taint": (None, [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]),
            "opkit_untaint": (None, [ctypes.c_void_p, ctypes.c_size_t]),
            "opkit_tainted": (ctypes.c_int, []),
            "opkit_taint_of": (ctypes.c_char_p, [ctypes.c_void_p, ctypes.c_size_t]),
            "opkit_set_uncomputed_reader": (None, [_ReadFn]),
            "opkit_launches_take": (ctypes.c_char_p, []),
            "opkit_journal_take": (ctypes.c_char_p, []),
            "opkit_model_tasks": (ctypes.c_char_p, [ctypes.c_uint64]),
            "opkit_is_device_memory": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_size_t]),
            "opkit_ir_define": (ctypes.c_int, [ctypes.c_char_p]),
            "opkit_ir_clear": (None, []),
            "opkit_set_task_runner": (None, [_TaskFn]),
            "opkit_set_task_releaser": (None, [_ReleaseFn]),
            "opkit_set_ge_callbacks": (None, [_InfoFn, _RunFn, _RemoveFn]),
            "opkit_ge_describe_output": (
                None, [ctypes.c_void_p, ctypes.c_int32, ctypes.POINTER(ctypes.c_int64), ctypes.c_int32],
            ),
            "opkit_ge_allocate_output": (
                ctypes.c_void_p,
                [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int32, ctypes.POINTER(ctypes.c_int64),
                ctypes.c_int32,
                 ctypes.c_size_t],
            ),
            "opkit_enter_operator": (None, [ctypes.c_char_p]),
            "opkit_leave_operator": (None, []),
            "opkit_set_error": (None, [ctypes.c_char_p]),
            "opkit_soc_name": (ctypes.c_char_p, []),
            "aclGetRecentErrMsg": (ctypes.c_char_p, []),
        }  # fmt: skip
        for name, (result, arguments) in signatures.items():
            function = getattr(self._library, name)
            function.restype, function.argtypes = result, arguments

    # ---- tasks

    def set_task_runner(
        self,
        runner: Callable[[list[int]], tuple[int, BaseException | None]],
        releaser: Callable[[int], None] | None = None,
    ) -> None:
        """Set what runs the tasks of tokens, in order, and what is told that a token is no longer needed.

        `runner` gives how many tasks succeeded, and the error of the next one if that was not the last: its
        text becomes the ACL error message.
        """

        def run(tokens: Any, n: int) -> int:
            try:
                done, error = runner(tokens[:n])
            except BaseException as problem:  # cannot cross C
                done, error = 0, problem
            if error is not None:
                self._set_error(error)
            return done

        def release(token: int) -> None:
            if releaser is not None:
                releaser(token)

        self._callbacks["task"], self._callbacks["release"] = _TaskFn(run), _ReleaseFn(release)
        self._library.opkit_set_task_runner(self._callbacks["task"])
        self._library.opkit_set_task_releaser(self._callbacks["release"])

    def launch(self, name: str, token: int, stream: int) -> None:
        """Submit the task of `token` to a stream: run now, or recorded if the stream is being captured.

        Token 0 is a launch that nobody computes.

        Raises:
            StandInError: the launch was refused or the task failed.
        """
        code = self._library.opkit_launch(name.encode(), token, stream)
        if code:
            raise StandInError(f"launch of {name} failed with ACL code {code}: {self.recent_error()}")

    def check_launch(self, name: str, stream: int) -> None:
        """Raise what a launch to a stream would raise now.

        Raises:
            StandInError: it would be refused.
        """
        code = self._library.opkit_check_launch(name.encode(), stream)
        if code:
            raise StandInError(f"launch of {name} failed with ACL code {code}: {self.recent_error()}")

    def is_capturing(self, stream: int) -> bool:
        """Say whether a stream is being captured."""
        return bool(self._library.opkit_stream_is_capturing(stream))

    def capturing_model(self, stream: int) -> int:
        """Give the id of the model into which a stream is being captured; 0 if none."""
        return int(self._library.opkit_capturing_model(stream))

    def model_tasks(self, model: int) -> list[str] | None:
        """Give the names of a captured model's tasks in order; None if there is no such model."""
        tasks: list[str] | None = json.loads(self._library.opkit_model_tasks(model))
        return tasks

    @property
    def uncomputed(self) -> int:
        """How many launches so far had a result that nobody computed."""
        return int(self._library.opkit_uncomputed_count())

    @property
    def uncomputed_launches(self) -> int:
        """How many launches that nobody computes this thread has submitted, run or captured."""
        return int(self._library.opkit_uncomputed_launches())

    # ---- memory that nobody computed

    @property
    def tainted(self) -> bool:
        """Whether any memory holds values that nobody computed, or that derive from such."""
        return self.taint_ranges.value != 0

    @property
    def frees(self) -> int:
        """How often device memory was given back: while it stands still, what was alive still is."""
        return self._frees.value

    def taint(self, data: int, nbytes: int, source: str) -> None:
        """Mark memory as holding values that come from `source`, which nobody computed."""
        self._library.opkit_taint(data, nbytes, source.encode())

    def untaint(self, data: int, nbytes: int) -> None:
        """Take the mark from memory that has been computed."""
        self._library.opkit_untaint(data, nbytes)

    def taint_of(self, data: int, nbytes: int) -> str:
        """Give the source of the values in a range of memory; "" if it has no mark."""
        return str(self._library.opkit_taint_of(data, nbytes).decode())

    def set_uncomputed_reader(self, reader: Callable[[str], None]) -> None:
        """Set what is told the source of each range without values that is copied to the host."""
        self._callbacks["reader"] = held = _ReadFn(lambda source: reader(source.decode()))
        self._library.opkit_set_uncomputed_reader(held)

    # ---- evidence

    def take_launches(self) -> list[Launch]:
        """Give the newest launches of CANN's kernels since the last call, with what each was given."""
        found = json.loads(self._library.opkit_launches_take())
        return [Launch(item["name"], item["model"], tuple(item["arguments"])) for item in found]

    def take_journal(self) -> list[Event]:
        """Give the events since the last call, oldest first."""
        return [Event(**entry) for entry in json.loads(self._library.opkit_journal_take())]

    @contextmanager
    def operator(self, name: str) -> Iterator[None]:
        """Refusals on this thread name the operator, or the one around it."""
        self._library.opkit_enter_operator(name.encode())
        try:
            yield
        finally:
            self._library.opkit_leave_operator()

    def recent_error(self) -> str:
        """Give, and clear, the error message of this thread."""
        return (self._library.aclGetRecentErrMsg() or b"").decode(errors="replace")

    @property
    def soc(self) -> str:
        """The SoC that this process claims to run on."""
        return str(self._library.opkit_soc_name().decode())

    def is_device_memory(self, data: int, nbytes: int = 1) -> bool:
        """Say whether an address range lies in one live device allocation."""
        return bool(self._library.opkit_is_device_memory(data, nbytes))

    # ---- Ascend IR and GE

    def define_ir(
        self,
        op: str,
        inputs: Sequence[tuple[str, str]],
        outputs: Sequence[tuple[str, str]],
        attrs: Sequence[tuple[str, str]] = (),
    ) -> None:
        """Define an Ascend IR prototype: pairs of (name, required|optional|dynamic) and (name, VT_*).

        Raises:
            StandInError: a name cannot stand in a prototype.
        """
        text = json.dumps({"op": op, "inputs": [*inputs], "outputs": [*outputs], "attrs": [*attrs]})
        if self._library.opkit_ir_define(text.encode()):
            raise StandInError(f"cannot define the Ascend IR of {op!r}: {self.recent_error()}")

    def clear_ir(self) -> None:
        """Forget every Ascend IR prototype."""
        self._library.opkit_ir_clear()

    def set_ge_interpreter(
        self,
        describe: Callable[[int, bytes], tuple[bool, Sequence[GeOutput]]],
        run: Callable[[int, tuple[GeTensor, ...], GeCall], None],
        remove: Callable[[int], None] | None = None,
    ) -> None:
        """Set what describes, runs and forgets GE graphs, known by a number unique in the process.

        `describe` gets the serialized graph and gives whether all shapes are known, and the outputs in
        NetOutput's order. `run` reads the inputs and writes or allocates every output. An exception of either
        fails the call.
        """

        def on_info(graph: int, data: int, size: int, summary: int) -> int:
            static = False

            def work() -> None:
                nonlocal static
                static, outputs = describe(graph, ctypes.string_at(data, size))
                for output in outputs:
                    array = (ctypes.c_int64 * len(output.dims))(*output.dims)
                    self._library.opkit_ge_describe_output(summary, output.dtype, array, len(output.dims))

            return -1 if self._guarded(work) else int(not static)

        def on_run(graph: int, inputs: object, n: int, outputs: object, given: int, call: int) -> int:
            tensors = _tensors(inputs, n)
            return self._guarded(
                lambda: run(graph, tensors, GeCall(self._library, call, _tensors(outputs, given)))
            )

        def on_remove(graph: int) -> None:
            if remove is not None:
                remove(graph)

        held = (_InfoFn(on_info), _RunFn(on_run), _RemoveFn(on_remove))
        self._callbacks["ge"] = held
        self._library.opkit_set_ge_callbacks(*held)

    def _guarded(self, work: Callable[[], None]) -> int:
        # An exception cannot cross C: its text becomes the error message, and the caller's call fails.
        try:
            work()
        except BaseException as error:
            self._set_error(error)
            return _FAILED
        return 0

    def _set_error(self, error: BaseException) -> None:
        self._library.opkit_set_error(f"{type(error).__name__}: {error}".encode())


def _tensors(array: object, n: int) -> tuple[GeTensor, ...]:
    items = [array[i] for i in range(n)]  # type: ignore[index]
    return tuple(
        GeTensor(item.data or 0, item.bytes, item.dtype, tuple(item.dims[d] for d in range(item.ndim)))
        for item in items
    )


_standin: StandIn | None = None


def standin() -> StandIn:
    """Give this process's stand-in, loading it if no runtime was chosen yet.

    Raises:
        StandInError: the process runs on real CANN, or the stand-in cannot be loaded.
    """
    global _standin
    if _standin is None:
        runtime = ensure_runtime()
        if runtime.kind != "stand-in":
            raise StandInError("this process runs on real CANN, not on the stand-in")
        # Choosing the runtime equips torch_npu, which may have made the object: its callbacks must live.
        _standin = _standin or StandIn(str(runtime.library_dir / CORE))
    return _standin
