"""The operator a rule is inherited from has no rule.

What it does
------------
Reports a `structured_inherit` that names no operator of the file, or one without `gen_opapi`.

Why it matters
--------------
There is nothing to inherit; op-plugin's build stops.

Example
-------
    - func: my_op(Tensor x) -> Tensor
      gen_opapi:
        structured_inherit: my_op.ou

Use instead
-----------
    - func: my_op(Tensor x) -> Tensor
      gen_opapi:
        structured_inherit: my_op.out
    - func: my_op.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)
      gen_opapi:
        out: {size: x, dtype: x}
        exec: aclnnMyOp
"""

CODE = "OPK033"
