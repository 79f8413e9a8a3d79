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


def large_file() -> str:
    """Make the text of a file of ENTRIES operators."""
    return "custom:\n" + "".join(_FORMS[i % len(_FORMS)].format(i=i) for i in range(ENTRIES))
