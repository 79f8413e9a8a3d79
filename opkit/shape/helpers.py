"""The functions a rule may call: what they take, what they give, and the Python that computes it.

`library.py` and `library_op_plugin.py` hold the functions themselves, as text: they need torch. The op-plugin
names are those of `op_plugin/utils/KernelNpuOutputSize.cpp`, `KernelNpuOutputDtype.cpp` and `OpUtils.cpp`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

# What a parameter wants. A tensor given for a "shape" is its shape, for a "dtype" its dtype. A leading "*"
# takes any number of that kind, a trailing "?" takes None as well, a trailing "=" may be left out.
SHAPE, DTYPE, TENSOR, VALUE = "shape", "dtype", "tensor", "value"


@dataclass(frozen=True)
class Helper:
    """One callable name of the rule language."""

    name: str
    parameters: tuple[str, ...]
    # "shape", "shapes" (a list of them), "dtype", "int", "bool" or "value".
    returns: str
    # What generated Python calls: a function of `opkit.shape.library`, `torch.<function>`, or a builtin.
    python: str

    @property
    def fewest(self) -> int:
        """The smallest number of arguments."""
        return sum(1 for p in self.parameters if not p.endswith("=") and not p.startswith("*"))

    @property
    def most(self) -> int | None:
        """The largest number of arguments; None without a limit."""
        return None if any(p.startswith("*") for p in self.parameters) else len(self.parameters)

    def kind_of(self, index: int) -> str:
        """What the parameter at `index` wants, without its marks."""
        return self.parameters[min(index, len(self.parameters) - 1)].strip("*=")

    def accepts(self, count: int) -> bool:
        """Check the number of arguments."""
        return self.fewest <= count and (self.most is None or count <= self.most)

    @property
    def is_library(self) -> bool:
        """Tell whether generated code needs the function's text copied in."""
        return not self.python.startswith("torch.") and self.python not in BUILTINS


BUILTINS = frozenset({"min", "max", "abs", "sum", "len"})

# name, parameters, result, Python
_GENERIC = (
    ("ceildiv", "value value", "int", "ceildiv"),
    ("align", "value value", "int", "align"),
    ("min", "*value", "int", "min"),
    ("max", "*value", "int", "max"),
    ("abs", "value", "int", "abs"),
    ("sum", "value", "int", "sum"),
    ("len", "value", "int", "len"),
    ("prod", "shape", "int", "prod"),
    ("set", "shape value value", "shape", "set_dim"),
    ("insert", "shape value value", "shape", "insert_dim"),
    ("drop", "shape value value=", "shape", "drop_dims"),
    ("reduce", "shape value value=", "shape", "reduce_dims"),
    ("ones", "value", "shape", "ones"),
    ("permute", "shape value", "shape", "permute_dims"),
    ("broadcast", "*shape", "shape", "torch.broadcast_shapes"),
    ("concat", "*shape", "shape", "concat"),
    ("repeat", "shape value", "shape", "repeat_shape"),
    ("stack", "tensor value", "shape", "stack_shape"),
    ("matmul_shape", "shape shape", "shape", "matmul_shape"),
    ("conv_out", "value value value= value= value=", "int", "conv_out"),
    ("pad", "shape value", "shape", "pad_last_dims"),
    ("promote", "*dtype", "dtype", "promote"),
    ("dtype_from_int", "value", "dtype", "dtype_from_int"),
    ("packed_dim", "value value", "int", "packed_dim"),
    ("is_integral", "dtype value=", "bool", "is_integral"),
    ("to_real", "dtype", "dtype", "to_real"),
    ("to_complex", "dtype", "dtype", "to_complex"),
)

_CPP = (
    ("input_same_output_size", "shape", "shape", ""),
    ("broadcast_ops_npu_output_size", "shape shape", "shape", "torch.broadcast_shapes"),
    ("reduce_ops_npu_output_size", "shape value value", "shape", "reduce_dims"),
    ("adaptive_avg_pool3d_npu_output_size", "shape value", "shape", "set_last_dims"),
    ("addr_npu_output_size", "shape shape shape", "shape", "addr_shape"),
    ("cdist_npu_output_size", "shape shape", "shape", "cdist_shape"),
    ("clamp_npu_output_size", "shape shape? shape?", "shape", "broadcast_present"),
    ("glu_npu_output_size", "shape value", "shape", "halve_dim"),
    ("swiglu_backward_infershape", "shape value", "shape", "halve_dim"),
    ("npu_gelu_mul_output_size", "shape", "shape", "halve_dim"),
    ("im2col_backward_npu_output_size", "shape value value", "shape", "im2col_backward_shape"),
    ("max_pool2d_out_size", "shape value", "shape", "max_pool2d_shape"),
    ("max_pool3d_output_size", "shape value", "shape", "max_pool3d_shape"),
    *((f"{kind}_pad{n}d_npu_out_size", "shape value", "shape", "pad_last_dims")
      for kind in ("reflection", "replication") for n in (1, 2, 3)),
    ("repeat_npu_output_size", "shape value", "shape", "repeat_shape"),
    ("stack_output_size", "tensor value", "shape", "stack_shape"),
    ("rms_norm_npu_output_size", "shape shape", "shapes", "rms_norm_shapes"),
    ("npu_cross_entropy_loss_loss_output_size", "shape value", "shape", "cross_entropy_loss_shape"),
    ("npu_cross_entropy_loss_zloss_output_size", "shape value value", "shape", "cross_entropy_zloss_shape"),
    ("npu_cross_entropy_loss_lse_for_zloss_output_size", "shape value", "shape", "cross_entropy_lse_shape"),
    ("npu_group_quant_out_size", "shape dtype?", "shape", "group_quant_shape"),
    ("npu_gather_sparse_index_out_size", "shape shape", "shape", "gather_sparse_index_shape"),
    ("npu_nsa_compress_out_size", "shape value value value value", "shape", "nsa_compress_shape"),
    ("npu_nsa_compress_attention_infer_out_size", "shape shape value value", "shape", "nsa_infer_shape"),
    ("npu_nsa_compress_attention_infer_topk_out_size", "shape value value value", "shape", "nsa_topk_shape"),
    ("npu_nsa_select_attention_infer_out_size", "shape shape value value value", "shape", "nsa_select_shape"),
    ("npu_moe_token_permute_out_size", "shape shape value", "shape", "moe_permute_shape"),
    ("npu_moe_distribute_dispatch_setup_out_size", f"shape shape{8 * ' value'}", "shapes",
     "dispatch_setup_shapes"),
    ("npu_moe_distribute_dispatch_teardown_out_size", f"shape shape{7 * ' value'}", "shapes",
     "dispatch_teardown_shapes"),
    ("npu_moe_distribute_combine_setup_out_size", "shape value", "shapes", "combine_setup_shapes"),
    ("abs_out_dtype", "dtype", "dtype", "to_real"),
    ("angle_out_dtype", "dtype", "dtype", "angle_dtype"),
    ("polar_out_dtype", "tensor tensor", "dtype", "polar_dtype"),
    ("clamp_out_dtype", "tensor tensor? tensor?", "dtype", "result_type_present"),
    ("clamp_scalar_out_dtype", "tensor value value", "dtype", "result_type_present"),
    ("npu_group_quant_dst_type", "dtype?", "dtype", "group_quant_dtype"),
    ("convert_to_scalar_type", "value", "dtype", "dtype_from_int"),
    ("npu_moe_distribute_dispatch_setup_out_dtype", "value", "dtype", "dtype_from_int"),
    ("result_type", "*tensor", "dtype", "result_type"),
    ("promoteTypes", "dtype dtype", "dtype", "torch.promote_types"),
    ("isIntegralType", "dtype value=", "bool", "is_integral"),
)  # fmt: skip

# Helpers that print as an expression of their own; `opkit.shape.printing` knows how.
_INLINE = (
    ("get_dimlist_for_tensor", "shape", "shape", ""),
    ("isFloatingType", "dtype", "bool", ""),
    ("is_floating", "dtype", "bool", ""),
    ("isComplexType", "dtype", "bool", ""),
    ("is_complex", "dtype", "bool", ""),
    ("typeMetaToScalarType", "dtype", "dtype", ""),
    ("present", "value", "bool", ""),
    ("is_gte_cann_version_820rc1", "", "bool", ""),
    ("isclose_output_size", "tensor tensor value value value", "shape", ""),
    ("npu_group_norm_silu_dst_type", "dtype dtype? dtype?", "dtype", "promote_first_present"),
    ("GetAclDataType", "value", "int", ""),
    ("npu_moe_token_permute_grad_out_size", "shape shape *value", "shape", ""),
    ("npu_moe_token_permute_grad_v2_out_size", "value shape *value", "shape", ""),
    ("npu_moe_token_unpermute_grad_v2_permuted_tokens_out_size", "value shape *value", "shape", ""),
    ("npu_moe_token_unpermute_grad_permuted_tokens_out_size", "shape *value", "shape", ""),
    ("npu_moe_token_unpermute_grad_probs_out_size", "value value value shape?", "shape", "probs_shape"),
    ("npu_moe_token_unpermute_grad_v2_probs_out_size", "value value shape?", "shape", "probs_shape"),
    ("npu_moe_distribute_combine_teardown_out_size", "shape shape", "shapes", ""),
)


def _table() -> dict[str, Helper]:
    rows = (*_GENERIC, *_CPP, *_INLINE)
    return {
        name: Helper(name, tuple(parameters.split()), returns, python)
        for name, parameters, returns, python in rows
    }


HELPERS: Mapping[str, Helper] = MappingProxyType(_table())

# Qualifiers that C++ expressions write in front of a helper.
_QUALIFIERS = (
    *("op_infer::", "op_plugin::", "op_api::", "npu_preparation::", "c10_npu::"),
    *("at::native::", "at::", "c10::", "std::", "native::"),
)


def find_helper(name: str) -> Helper | None:
    """Find a helper by the name as written, with or without its C++ qualifier."""
    for qualifier in _QUALIFIERS:
        if name.startswith(qualifier):
            name = name[len(qualifier) :]
            break
    return HELPERS.get(name)
