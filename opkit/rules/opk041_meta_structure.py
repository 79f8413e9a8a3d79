"""The `meta` rule has a form opkit does not take.

What it does
------------
Reports parts of `meta` that are of the wrong kind, a number of results that does not fit the schema, names of
`let` that are arguments already, and messages that name nothing.

Why it matters
--------------
No Meta kernel can be made from the rule.

Example
-------
    - func: my_op(Tensor x) -> Tensor
      meta:
        out: x

Use instead
-----------
    - func: my_op(Tensor x) -> Tensor
      meta:
        out: {size: x.shape, dtype: x.dtype}
"""

CODE = "OPK041"
