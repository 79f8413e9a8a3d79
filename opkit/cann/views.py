"""CPU views of NPU tensors: on the stand-in device memory is host memory, so a view needs no copy."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Callable

from opkit.cann.library import standin
from opkit.cann.uncomputed import extent, is_dense, uncomputed_source
from opkit.errors import OpkitError

if TYPE_CHECKING:
    import torch

# aclFormat numbers whose memory is laid out as sizes and strides say (acl_base.h: NCHW, NHWC, ND, NCDHW,
# NDHWC).
_PLAIN_FORMATS = frozenset({-1, 0, 1, 2, 27, 30})

# What fresh device memory holds on the stand-in: NaN in every floating type.
POISON = 0xFF
# What a task writes to memory that the real kernel would write and that nobody computed.
WRITE_MARK = 0xA5


def cpu_view(tensor: torch.Tensor) -> torch.Tensor:
    """A CPU tensor on the same memory, with the same sizes, strides, offset, conjugate and negative bits.

    The view holds the address and not the storage, as a kernel on the device does: it is valid while the
    storage of `tensor` lives. Raises OpkitError for a tensor of another device or in an internal (fractal)
    format.
    """
    import torch

    if tensor.device.type != "npu":
        raise OpkitError(f"a CPU view needs an NPU tensor, got one on {tensor.device}")
    _require_plain_format(tensor)
    # An inference tensor could not be written by a replay outside of inference mode.
    if torch.is_inference_mode_enabled():
        with torch.inference_mode(False):
            view = _plain_view(tensor)
    else:
        view = _plain_view(tensor)
    if tensor.is_conj():
        view = torch._conj(view)
    if tensor.is_neg():
        view = torch._neg_view(view)
    return view


def _plain_view(tensor: torch.Tensor) -> torch.Tensor:
    import torch

    storage = tensor.untyped_storage()
    nbytes = storage.nbytes()
    if nbytes == 0:
        return torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype, device="cpu")
    buffer = (ctypes.c_char * nbytes).from_address(storage.data_ptr())
    raw = torch.frombuffer(buffer, dtype=torch.uint8)
    view = torch.empty(0, dtype=tensor.dtype, device="cpu")
    return view.set_(raw.untyped_storage(), tensor.storage_offset(), tensor.size(), tensor.stride())


def has_plain_format(tensor: torch.Tensor) -> bool:
    """Whether the memory of an NPU tensor is laid out as its sizes and strides say."""
    import torch
    import torch_npu

    # Asked with these bits set, torch would first copy the tensor.
    if tensor.is_neg():
        tensor = torch._neg_view(tensor)
    if tensor.is_conj():
        tensor = torch._conj(tensor)
    return torch_npu.get_npu_format(tensor) in _PLAIN_FORMATS


def _require_plain_format(tensor: torch.Tensor) -> None:
    if not has_plain_format(tensor):
        import torch_npu

        layout = torch_npu.get_npu_format(tensor)
        raise OpkitError(
            f"a tensor in the internal format {layout} has no CPU view",
            "set torch.npu.config.allow_internal_format = False, or use torch_npu.npu_format_cast(x, 2)",
        )


def map_tensors(value: Any, change: Callable[[torch.Tensor], Any]) -> Any:
    """`value` with every tensor in it, at any depth of lists and tuples, replaced by `change(tensor)`."""
    import torch

    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, (list, tuple)):
        return type(value)([map_tensors(item, change) for item in value])
    return value


def tensors_in(value: Any) -> list[torch.Tensor]:
    """Every tensor in `value`, in order, at any depth of lists, tuples and dicts."""
    found: list[torch.Tensor] = []
    items = list(value.values()) if isinstance(value, dict) else value
    map_tensors(items, found.append)
    return found


class TaskViews:
    """The CPU views that one task uses, and the device memory they stand on."""

    def __init__(self) -> None:
        self._memory: list[tuple[int, int]] = []
        self._read: list[tuple[int, int]] = []
        self._written: list[tuple[int, int, bool]] = []
        self._library = standin()
        self.alive_at = -1  # the count of frees at which all of the memory was known to be alive

    def of(self, value: Any, *, reads: bool = True, writes: bool = False) -> Any:
        """`value` for the CPU: views of NPU tensors, the present value of host tensors, the CPU device.

        `reads` and `writes` say what the task does with the values.
        """
        import torch

        for tensor in tensors_in([value]):
            if tensor.device.type == "npu" and reads:
                self._read.append(extent(tensor))
            if tensor.device.type == "npu" and writes:
                self._written.append((*extent(tensor), is_dense(tensor)))
        if isinstance(value, torch.device) and value.type == "npu":
            return torch.device("cpu")
        return map_tensors(value, self._view)

    def written(self, value: Any) -> Any:
        """As `of`, for what the task writes and does not read."""
        return self.of(value, reads=False, writes=True)

    def _view(self, tensor: torch.Tensor) -> torch.Tensor:
        if tensor.device.type != "npu":
            return tensor if is_wrapped_number(tensor) else tensor.clone()
        storage = tensor.untyped_storage()
        if storage.nbytes():
            self._memory.append((storage.data_ptr(), storage.nbytes()))
        return cpu_view(tensor)

    def carry_marks(self) -> None:
        """After the task: what it wrote derives from what nobody computed if something that it read does."""
        library = self._library
        if not library.tainted:
            return
        source = next(filter(None, (library.taint_of(*place) for place in self._read)), "")
        for start, nbytes, dense in self._written:
            if source:
                library.taint(start, nbytes, source)
            elif dense:
                library.untaint(start, nbytes)

    def mark_written(self, source: str) -> None:
        """After a task that computed nothing."""
        for start, nbytes, _ in self._written:
            standin().taint(start, nbytes, source)

    def require_alive(self, name: str) -> None:
        """Raises RuntimeError if memory was given back since the launch: on the device this is a fault."""
        frees = self._library.frees
        for address, nbytes in self._memory:
            if not self._library.is_device_memory(address, nbytes):
                raise RuntimeError(
                    f"{name} runs on device memory at {address:#x} that was freed after its launch"
                )
        self.alive_at = frees


def is_wrapped_number(tensor: torch.Tensor) -> bool:
    """Whether a 0-dim tensor was made from a Python number, which does not take part in type promotion."""
    import torch

    small = _SMALLEST.get(str(tensor.dtype))
    if small is None or tensor.dim():
        return False
    dtype: torch.dtype = getattr(torch, small)
    return torch.result_type(tensor, torch.empty((), dtype=dtype, device="cpu")) is dtype


# The dtypes of wrapped numbers, each with a smaller one of its kind: promoted with it, a number gives way.
_SMALLEST = {"torch.int64": "int8", "torch.float64": "float32", "torch.complex128": "complex64"}


def _bytes_of(view: torch.Tensor) -> torch.Tensor:
    """The bytes of each element, elements last but one, whatever the strides."""
    import torch

    return view.resolve_conj().resolve_neg().contiguous().flatten().view(torch.uint8)


def fill_bytes(view: torch.Tensor, byte: int) -> None:
    """Sets every byte of every element of a CPU tensor, also where no number has that bit pattern."""
    import torch

    pattern = torch.full((view.element_size(),), byte, dtype=torch.uint8, device="cpu").view(view.dtype)
    # A bool byte other than 0 and 1 would be normalised by copy_, so bool is written as what it is stored as.
    if view.dtype is torch.bool:
        view, pattern = view.view(torch.uint8), pattern.view(torch.uint8)
    view.copy_(pattern.reshape(()).expand(view.size()))


def is_uncomputed(tensor: torch.Tensor) -> bool:
    """Whether nobody computed this tensor: it is marked so, or every element holds poison or the write mark.

    An empty tensor holds no such element and is not uncomputed. Integers that are all -1 look like poison.
    """
    if uncomputed_source(tensor) is not None:
        return True
    data = _bytes_of(cpu_view(tensor) if tensor.device.type == "npu" else tensor)
    if data.numel() == 0:
        return False
    return bool(((data == POISON) | (data == WRITE_MARK)).all())


def has_write_mark(tensor: torch.Tensor) -> bool:
    """Whether every element holds the write mark: a task that computes nothing reached this memory."""
    data = _bytes_of(cpu_view(tensor) if tensor.device.type == "npu" else tensor)
    return data.numel() > 0 and bool((data == WRITE_MARK).all())
