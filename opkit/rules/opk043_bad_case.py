"""A case cannot be used for a proof.

What it does
------------
Reports values that do not fit the argument's type, missing arguments, unknown names and dtypes, and dims
without a size.

Why it matters
--------------
The operator could not be called with these inputs, so nothing would be proved.

Example
-------
    - func: my_op(Tensor x, float attr) -> Tensor
      cases:
        - {x: "f16[B, 8]", attr: "one"}

Use instead
-----------
    - func: my_op(Tensor x, float attr) -> Tensor
      cases:
        - {x: "f16[B, 8]", attr: 1.0, B: [4, 3, 7]}
"""

CODE = "OPK043"
