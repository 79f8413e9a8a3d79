"""The results of `gen_opapi` do not fit the schema.

What it does
------------
Reports a number of results other than the schema's number of tensors, a result without size or dtype, and,
for an `out` variant, a result that is no out argument.

Why it matters
--------------
Results are bound to the schema's by position. op-plugin's generator refuses a wrong number.

Example
-------
    - func: my_op(Tensor x) -> (Tensor, Tensor)
      gen_opapi:
        out: {size: x, dtype: x}
        exec: aclnnMyOp

Use instead
-----------
    - func: my_op(Tensor x) -> (Tensor, Tensor)
      gen_opapi:
        out0: {size: x, dtype: x}
        out1: {size: x, dtype: x}
        exec: aclnnMyOp
"""

CODE = "OPK032"
