"""A YAML file as large as op-plugin's own, made up from a few real forms of entry."""

from __future__ import annotations

ENTRIES = 1_500

_FORMS = (
    """  - func: op_{i}(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
    acl_op: all_version
    op_api: all_version
    gen_opapi:
      out:
        size: broadcast_ops_npu_output_size(self, other)
        dtype: at::native::result_type(self, other)
      exec: aclnnOp{i}
""",
    """  - func: op_{i}(Tensor x, Tensor? b=None, *, int axis=-1, float eps=1e-06) -> (Tensor, Tensor)
    op_api: [v2.1, newest]
    gen_opapi:
      y: {{size: x, dtype: x}}
      scale: {{size: '{{x.size(0), x.size(-1)}}', dtype: at::kFloat}}
      exec: aclnnOp{i}, x, b, axis, eps, y, scale
""",
    """  - func: op_{i}(Tensor(a!) cache, Tensor slots, Tensor[] parts, SymInt n, int[2] pad=0) -> ()
    op_api: v2.1, v2.2, v2.13
""",
)


def large_file(entries: int = ENTRIES) -> str:
    """Make the text of a file of that many operators."""
    return "custom:\n" + "".join(_FORMS[i % len(_FORMS)].format(i=i) for i in range(entries))


# How many entries op_plugin_functions.yaml has in torch_npu 2.13, and about how they are spread.
OP_PLUGIN_ENTRIES = 1_514

_OFFICIAL = (
    _FORMS[0],
    """  - func: op_{i}.out(Tensor self, int[1] dim, bool keepdim=False, *, ScalarType? dtype=None,
      Tensor(a!) out) -> Tensor(a!)
    acl_op: all_version
    op_api: all_version
    gen_opapi:
      out:
        size: reduce_ops_npu_output_size(self, dim, keepdim)
        dtype: 'isIntegralType(self.scalar_type(), true) ? at::kFloat : self.scalar_type()'
      exec: aclnnOp{i}
""",
    """  - func: op_{i}_(Tensor(a!) self, Scalar threshold, Scalar value) -> Tensor(a!)
    acl_op: all_version
    op_api: all_version
""",
    """  - func: op_{i}(Tensor grad_output, Tensor input, Tensor? weight, bool[3] mask,
      float eps) -> (Tensor, Tensor, Tensor)
    acl_op: all_version
    op_api: [v2.1, newest]
    dvm: all_version
""",
)
_CUSTOM = (
    _FORMS[1],
    """  - func: op_{i}(Tensor x{i}, Tensor weight, Tensor? bias{i}=None, *, Tensor? scale{i}=None,
      float eps=1e-06, str layout="BSND", int mode_{i}=0, ScalarType? dtype=None,
      bool flag_{i}=False) -> (Tensor, Tensor)
    op_api: [v2.1, newest]
    exposed: all_version
    internal_format_opapi: all_version
    gen_opapi:
      y: {{size: x{i}, dtype: x{i}}}
      scale: {{size: '{{x{i}.size(0), weight.size(-1)}}', dtype: at::kFloat}}
      exec: aclnnOp{i}
""",
    _FORMS[2],
)


def op_plugin_file(entries: int = OP_PLUGIN_ENTRIES) -> str:
    """Make the text of a file like op-plugin's: seven official operators to three custom ones."""
    official, custom = [], []
    for i in range(entries):
        forms, section = (_OFFICIAL, official) if i % 10 < 7 else (_CUSTOM, custom)
        section.append(forms[i % len(forms)].format(i=i))
    versions = ", ".join(f"v2.{minor}" for minor in range(1, 16))
    return f"all_version: [{versions}]\nofficial:\n{''.join(official)}custom:\n{''.join(custom)}"
