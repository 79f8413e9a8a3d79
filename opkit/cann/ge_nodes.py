"""The standard Ascend IR nodes that the stand-in can compute: one entry of a table for each type.

An entry is a function of a NodeCall that returns the node's output, or a list of its outputs. Semantics are
those of the IR prototypes in CANN's op_proto headers, which torchair repeats above each raw API in
auto_generated_ge_raw_ops.py. A type that is not in the table, or an attribute value that is not understood,
is an error: a wrong number would be worse than none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Callable

from opkit.cann.ge_dtypes import from_number
from opkit.cann.ge_graph import GeNode
from opkit.errors import OpkitError

if TYPE_CHECKING:
    import torch


# Attributes that say how a node is run and not what it computes, or that repeat a number of tensors.
_NO_EFFECT = frozenset(
    (
        "N", "is_preprocessed", "num", "num_split", "sort_policy", "use_locking", "validate_indices",
        "validate_shape",
    )
)  # fmt: skip
# Attributes with the value that leaves the plain function: of Exp and Log, Round, quantised MatMul.
_NEUTRAL: dict[str, Any] = {"base": -1.0, "scale": 1.0, "shift": 0.0, "decimals": 0, "offset_x": 0}


class NodeCall:
    """One execution of a node: its input values and attributes by their IR names."""

    def __init__(self, node: GeNode, values: Mapping[str, torch.Tensor]) -> None:
        self.node = node
        self._values = values
        self._read: set[str] = set()

    def __getitem__(self, name: str) -> torch.Tensor:
        """The value of a required input. Raises OpkitError if it is not fed."""
        value = self._values.get(name)
        if value is None:
            raise OpkitError(f'GE node {self.node.name} ({self.node.type}): its input "{name}" is not fed')
        return value

    def get(self, name: str) -> torch.Tensor | None:
        """The value of an optional input, None if it is not fed."""
        return self._values.get(name)

    def many(self, name: str) -> list[torch.Tensor]:
        """The values of a dynamic input: `name0`, `name1`, ... in order."""
        found: list[torch.Tensor] = []
        while f"{name}{len(found)}" in self._values:
            found.append(self._values[f"{name}{len(found)}"])
        return found

    def values(self) -> list[torch.Tensor]:
        """Every input value."""
        return list(self._values.values())

    def attr(self, name: str, default: Any = None) -> Any:
        """An attribute, `default` if the node does not carry it."""
        self._read.add(name)
        return self.node.attrs.get(name, default)

    def required(self, name: str) -> Any:
        """An attribute that must be there. Raises OpkitError if it is not."""
        if name not in self.node.attrs:
            raise OpkitError(
                f'GE node {self.node.name} ({self.node.type}): its attribute "{name}" is missing'
            )
        self._read.add(name)
        return self.node.attrs[name]

    def expect(self, name: str, *allowed: Any, default: Any = None) -> None:
        """Raises OpkitError if an attribute has a value that this interpreter does not implement."""
        value = self.attr(name, default)
        if value not in allowed:
            raise OpkitError(
                f"cannot interpret {self.node.type} with {name}={value!r} (node {self.node.name})"
            )

    def require_all_read(self) -> None:
        """Raises OpkitError if the node has an attribute that its computation did not look at."""
        for name in sorted(set(self.node.ir_attrs) - self._read - _NO_EFFECT):
            if name not in _NEUTRAL or self.node.attrs[name] != _NEUTRAL[name]:
                value = self.node.attrs[name]
                raise OpkitError(
                    f"cannot interpret {self.node.type} with {name}={value!r} (node {self.node.name})"
                )

    def ints(self, name: str) -> list[int]:
        """An input that holds integers, as a flat list."""
        return [int(item) for item in self[name].flatten().tolist()]

    def dtype(self, name: str) -> torch.dtype:
        """An attribute that holds a ge::DataType, as a torch dtype."""
        return from_number(int(self.required(name))).torch()


Compute = Callable[[NodeCall], Any]


def _torch(function: str, *names: str) -> Compute:
    """A node that is one torch function of its inputs."""

    def compute(call: NodeCall) -> Any:
        import torch

        return getattr(torch, function)(*[call[name] for name in names])

    return compute


def _binary(function: str) -> Compute:
    """An element-wise node of x1 and x2: both are tensors in GE, and none gives way as a number."""

    def compute(call: NodeCall) -> Any:
        import torch

        x1, x2 = call["x1"], call["x2"]
        if x1.dtype != x2.dtype:
            common = torch.promote_types(x1.dtype, x2.dtype)
            x1, x2 = x1.to(common), x2.to(common)
        return getattr(torch, function)(x1, x2)

    return compute


def _real_div(call: NodeCall) -> Any:
    import torch

    mode = None if call["x1"].dtype.is_floating_point or call["x1"].dtype.is_complex else "trunc"
    return torch.div(call["x1"], call["x2"], rounding_mode=mode)


def _reduce(function: str) -> Compute:
    def compute(call: NodeCall) -> Any:
        import torch

        x, axes = call["x"], call.ints("axes")
        noop = call.attr("noop_with_empty_axes", True)
        if not axes and noop:
            return x.clone()
        dims = axes or list(range(x.dim()))
        keep = bool(call.attr("keep_dims", False))
        if function in ("sum", "amax", "amin", "logsumexp", "mean"):
            options = {"dtype": x.dtype} if function == "sum" else {}
            return getattr(torch, function)(x, dims, keep, **options)
        for dim in sorted((dim % x.dim() for dim in dims), reverse=True):
            options = {"dtype": x.dtype} if function == "prod" else {}
            x = getattr(torch, function)(x, dim, keep, **options)
        return x

    return compute


def _reduce_mean_with_cast(call: NodeCall) -> Any:
    number = int(call.attr("dtype", 28))
    mean = _reduce("mean")(call) if number == 28 else None
    if mean is None:
        dims, keep = call.ints("axes"), bool(call.attr("keep_dims", False))
        mean = call["x"].mean(dims or None, keep, dtype=from_number(number).torch())
    return mean


def _matmul(first: str, second: str) -> Compute:
    def compute(call: NodeCall) -> Any:
        x1, x2, bias = call["x1"], call["x2"], call.get("bias")
        x1 = x1.mT if call.attr(first, False) else x1
        x2 = x2.mT if call.attr(second, False) else x2
        if call.get("offset_w") is not None:
            raise OpkitError(f"cannot interpret {call.node.type} with offset_w (node {call.node.name})")
        product = x1 @ x2
        return product if bias is None else (product + bias.to(product.dtype))

    return compute


def _axpy(call: NodeCall) -> Any:
    alpha = call["alpha"] if call.node.type == "AxpyV2" else call.required("alpha")
    return call["x1"] + call["x2"] * alpha


def _clip(call: NodeCall) -> Any:
    return call["x"].clamp(call["clip_value_min"], call["clip_value_max"])


def _select(call: NodeCall) -> Any:
    import torch

    then, other = ("then", "else") if call.node.type == "SelectV2" else ("x1", "x2")
    return torch.where(call["condition"].bool(), call[then], call[other])


def _range(call: NodeCall) -> Any:
    import torch

    start, limit, delta = (call[name] for name in ("start", "limit", "delta"))
    return torch.arange(start.item(), limit.item(), delta.item(), dtype=start.dtype)


def _top_k(call: NodeCall) -> Any:
    import torch

    largest, ordered = bool(call.attr("largest", True)), bool(call.attr("sorted", True))
    values, indices = torch.topk(call["x"], int(call["k"].item()), call.attr("dim", -1), largest, ordered)
    return [values, indices.to(torch.int32)]


def _sort(call: NodeCall) -> Any:
    import torch

    values, indices = torch.sort(
        call["x"], dim=call.attr("axis", -1), descending=call.attr("descending", False), stable=True
    )
    return [values, indices.to(torch.int32)]


def _arg(function: str) -> Compute:
    def compute(call: NodeCall) -> Any:
        import torch

        dtype = from_number(int(call.attr("dtype", 9))).torch()
        return getattr(torch, function)(call["x"], int(call["dimension"].item())).to(dtype)

    return compute


def _arg_with_value(function: str) -> Compute:
    def compute(call: NodeCall) -> Any:
        import torch

        keep = bool(call.attr("keep_dims", False))
        values, indices = getattr(torch, function)(call["x"], int(call.required("dimension")), keep)
        return [indices.to(torch.int32), values]

    return compute


def _lp_norm(call: NodeCall) -> Any:
    import torch

    axes, keep = call.attr("axes", []), bool(call.attr("keepdim", False))
    if call.attr("epsilon", 1e-12) > 1e-11:
        call.expect("epsilon", 0.0)
    return torch.linalg.vector_norm(call["x"], call.attr("p", 2.0), tuple(axes) or None, keep)


def _cumsum(call: NodeCall) -> Any:
    import torch

    call.expect("exclusive", False, default=False)
    call.expect("reverse", False, default=False)
    return torch.cumsum(call["x"], int(call["axis"].item()), dtype=call["x"].dtype)


# Node type -> torch function of one input x with the same name or another.
_UNARY = {
    "Abs": "abs", "Acos": "acos", "Acosh": "acosh", "Asin": "asin", "Asinh": "asinh", "Atan": "atan",
    "Atanh": "atanh", "Ceil": "ceil", "Cos": "cos", "Cosh": "cosh", "Erf": "erf", "Erfc": "erfc",
    "Exp": "exp", "Expm1": "expm1", "Floor": "floor", "Invert": "bitwise_not", "IsFinite": "isfinite",
    "IsInf": "isinf", "IsNan": "isnan", "Log": "log", "Log1p": "log1p", "LogicalNot": "logical_not",
    "Neg": "neg", "OnesLike": "ones_like", "Reciprocal": "reciprocal", "Relu": "relu",
    "Round": "round", "Rsqrt": "rsqrt", "Sigmoid": "sigmoid", "Sign": "sign", "Sin": "sin",
    "Sinh": "sinh", "Sqrt": "sqrt", "Square": "square", "Tan": "tan", "Tanh": "tanh",
    "ZerosLike": "zeros_like",
}  # fmt: skip
_BINARY = {
    "Add": "add", "BitwiseAnd": "bitwise_and", "BitwiseOr": "bitwise_or", "BitwiseXor": "bitwise_xor",
    "Equal": "eq", "FloorDiv": "floor_divide", "FloorMod": "remainder", "Greater": "gt",
    "GreaterEqual": "ge", "Less": "lt", "LessEqual": "le", "LogicalAnd": "logical_and",
    "LogicalOr": "logical_or", "Maximum": "maximum", "Minimum": "minimum", "Mod": "fmod",
    "Mul": "mul", "NotEqual": "ne", "Pow": "pow", "Sub": "sub",
}  # fmt: skip

MATH: dict[str, Compute] = {
    **{ir_type: _torch(function, "x") for ir_type, function in _UNARY.items()},
    **{ir_type: _binary(function) for ir_type, function in _BINARY.items()},
    "Addcdiv": lambda call: call["input_data"] + call["value"] * (call["x1"] / call["x2"]),
    "Addcmul": lambda call: call["input_data"] + call["value"] * (call["x1"] * call["x2"]),
    "ArgMaxV2": _arg("argmax"),
    "ArgMaxWithValue": _arg_with_value("max"),
    "ArgMin": _arg("argmin"),
    "ArgMinWithValue": _arg_with_value("min"),
    "Axpy": _axpy,
    "AxpyV2": _axpy,
    "BatchMatMul": _matmul("adj_x1", "adj_x2"),
    "BatchMatMulV2": _matmul("adj_x1", "adj_x2"),
    "BatchMatMulV3": _matmul("adj_x1", "adj_x2"),
    "ClipByValueV2": _clip,
    "Cumsum": _cumsum,
    "Div": _real_div,
    "LpNormV2": _lp_norm,
    "MatMul": _matmul("transpose_x1", "transpose_x2"),
    "MatMulV2": _matmul("transpose_x1", "transpose_x2"),
    "MatMulV3": _matmul("transpose_x1", "transpose_x2"),
    "Muls": lambda call: call["x"] * call.required("value"),
    "Range": _range,
    "RealDiv": _real_div,
    "ReduceAll": _reduce("all"),
    "ReduceAny": _reduce("any"),
    "ReduceLogSumExp": _reduce("logsumexp"),
    "ReduceMax": _reduce("amax"),
    "ReduceMean": _reduce("mean"),
    "ReduceMeanWithCast": _reduce_mean_with_cast,
    "ReduceMin": _reduce("amin"),
    "ReduceProd": _reduce("prod"),
    "ReduceSum": _reduce("sum"),
    "Select": _select,
    "SelectV2": _select,
    "Sort": _sort,
    "TopKV2": _top_k,
    "Tril": lambda call: call["x"].tril(call.attr("diagonal", 0)),
    "Triu": lambda call: call["x"].triu(call.attr("diagonal", 0)),
}
