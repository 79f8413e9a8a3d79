"""Shape and dtype functions that generated Meta kernels call.

This module is read as text and never imported: the text is copied into a generated module when a rule names a
function, so that generated code does not depend on opkit, and `opkit.shape.evaluation` runs the same text.
Each function is therefore self-contained: it uses `torch` and other library functions, nothing else.
Sizes may be SymInts: only integer arithmetic, and no comparison that a result does not depend on.

`library_op_plugin.py` has more of the same kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

# ruff: noqa: D103 - the text is meant for generated modules, where a docstring per function is noise.

Shape = Sequence[Any]


def ceildiv(value: Any, divisor: Any) -> Any:
    return (value + divisor - 1) // divisor


def align(value: Any, multiple: Any) -> Any:
    return ceildiv(value, multiple) * multiple


def prod(values: Shape) -> Any:
    result = 1
    for value in values:
        result = result * value
    return result


def wrap_dim(dim: int, rank: int) -> int:
    """Count a negative dim from the end; refuse one out of range."""
    if not -max(rank, 1) <= dim < max(rank, 1):
        raise IndexError(f"dim {dim} is out of range for a tensor of {rank} dims")
    return dim % max(rank, 1)


def set_dim(shape: Shape, dim: int, size: Any) -> list[Any]:
    """`shape` with one dim replaced."""
    result = list(shape)
    result[wrap_dim(dim, len(shape))] = size
    return result


def insert_dim(shape: Shape, dim: int, size: Any) -> list[Any]:
    """`shape` with a new dim at `dim` of the result."""
    result = list(shape)
    result.insert(wrap_dim(dim, len(shape) + 1), size)
    return result


def reduce_dims(shape: Shape, dims: Sequence[int] | int | None, keepdim: bool = False) -> list[Any]:
    """`shape` without the reduced dims, or with 1 in their place; no dims means all."""
    listed = [dims] if isinstance(dims, int) else list(dims or ())
    reduced = {wrap_dim(dim, len(shape)) for dim in listed} or set(range(len(shape)))
    if keepdim:
        return [1 if i in reduced else size for i, size in enumerate(shape)]
    return [size for i, size in enumerate(shape) if i not in reduced]


def drop_dims(shape: Shape, dims: Sequence[int] | int, keepdim: bool = False) -> list[Any]:
    """`shape` without these dims, or with 1 in their place."""
    dropped = {wrap_dim(dim, len(shape)) for dim in ([dims] if isinstance(dims, int) else dims)}
    if keepdim:
        return [1 if i in dropped else size for i, size in enumerate(shape)]
    return [size for i, size in enumerate(shape) if i not in dropped]


def ones(count: int) -> list[int]:
    return [1] * count


def permute_dims(shape: Shape, dims: Sequence[int]) -> list[Any]:
    return [shape[dim] for dim in dims]


def repeat_shape(shape: Shape, repeats: Shape) -> list[Any]:
    """The shape of `x.repeat(repeats)`."""
    padded = [1] * (len(repeats) - len(shape)) + list(shape)
    return [size * times for size, times in zip(padded, repeats)]


def concat(*shapes: Shape) -> list[Any]:
    return [size for shape in shapes for size in shape]


def stack_shape(tensors: Sequence[torch.Tensor], dim: int) -> list[Any]:
    """The shape of `torch.stack(tensors, dim)`."""
    return insert_dim(tensors[0].shape, dim, len(tensors))


def matmul_shape(left: Shape, right: Shape) -> list[Any]:
    """The shape of `left @ right`, including the 1-D forms."""
    batch = torch.broadcast_shapes(left[:-2], right[:-2])
    rows = [left[-2]] if len(left) > 1 else []
    columns = [right[-1]] if len(right) > 1 else []
    return [*batch, *rows, *columns]


def conv_out(size: Any, kernel: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1) -> Any:
    """The length of one convolved dim."""
    return (size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1


def pad_last_dims(shape: Shape, padding: Shape) -> list[Any]:
    """Add a (before, after) pair to each dim, the last dim first."""
    result = list(shape)
    for i in range(len(padding) // 2):
        result[-1 - i] = result[-1 - i] + padding[2 * i] + padding[2 * i + 1]
    return result


def set_last_dims(shape: Shape, sizes: Shape) -> list[Any]:
    """`shape` with its last dims replaced."""
    return [*shape[: len(shape) - len(sizes)], *sizes]


def promote(*dtypes: torch.dtype) -> torch.dtype:
    result = dtypes[0]
    for dtype in dtypes[1:]:
        result = torch.promote_types(result, dtype)
    return result


def result_type(*values: Any) -> torch.dtype:
    """torch's result type of tensors and numbers: a tensor with dims outranks a 0-dim one, that a number."""
    operands: list[Any] = []
    for value in values:
        operands.extend(value if isinstance(value, (list, tuple)) else [value])
    ranks = [(2 if v.dim() else 1) if isinstance(v, torch.Tensor) else 0 for v in operands]
    result, at = None, 0
    for rank in (2, 1, 0):
        for value in (v for v, r in zip(operands, ranks) if r == rank):
            if result is None:
                result, at = getattr(value, "dtype", None) or torch.result_type(value, value), rank
                continue
            # An empty stand-in of the same dtype and rank lets torch apply its own table.
            like = torch.empty((1,) * (at == 2), dtype=result, device="meta")
            result = torch.result_type(like, value)
    if result is None:
        raise ValueError("result_type needs at least one value")
    return result


def is_integral(dtype: torch.dtype, include_bool: bool = False) -> bool:
    if dtype == torch.bool:
        return include_bool
    return not dtype.is_floating_point and not dtype.is_complex


def to_complex(dtype: torch.dtype) -> torch.dtype:
    return dtype if dtype.is_complex else dtype.to_complex()


def to_real(dtype: torch.dtype) -> torch.dtype:
    return dtype.to_real() if dtype.is_complex else dtype


def dtype_from_int(number: int) -> torch.dtype:
    """The dtype behind an `int` argument: c10's ScalarType numbers, and torch_npu's from 256 on."""
    names = {
        **dict(enumerate(("uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"))),
        **dict(enumerate(("complex32", "complex64", "complex128", "bool", "qint8", "quint8", "qint32"), 8)),
        **dict(enumerate(("bfloat16", "quint4x2"), 15)),
        21: "bits8",
        23: "float8_e5m2",
        24: "float8_e4m3fn",
        **dict(enumerate(("uint16", "uint32", "uint64"), 27)),
        **dict(enumerate(("float8_e8m0fnu", "float4_e2m1fn_x2"), 44)),
        # 256 + the number of CANN's aclDataType.
        **dict(enumerate(("float32", "float16", "int8", "int32", "uint8"), 256)),
        **dict(enumerate(("int16", "uint16", "uint32", "int64", "uint64", "float64", "bool"), 262)),
        **dict(enumerate(("complex64", "complex128"), 272)),
        283: "bfloat16",
        289: "complex32",
        **dict(enumerate(("float8_e5m2", "float8_e4m3fn", "float8_e8m0fnu"), 291)),
        296: "float4_e2m1fn_x2",
        # int4, hifloat8, two of 6 bits and one of 4: torch_npu stores them in bytes.
        **dict.fromkeys((285, 290, 294, 295, 297), "uint8"),
    }
    if number not in names:
        raise ValueError(f"{number} is no dtype number of torch or torch_npu")
    # Before torch 2.8, which lacks the type, bytes are what torch_npu stores it in, too.
    return getattr(torch, names[number], torch.uint8 if number == 296 else None)


def packed_dim(size: Any, number: int) -> Any:
    """How long a dim of so many numbers is in memory: torch_npu packs those of 4 bits into larger ones.

    `number` is the dtype's, as `dtype_from_int` takes it: quint4x2 (16) lies in int32, the others in bytes.
    """
    if number == 16:
        return size // 8
    return size // 2 if number in (285, 296, 297) else size
