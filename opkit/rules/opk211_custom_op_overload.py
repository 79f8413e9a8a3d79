"""custom_op cannot define an overload.

What it does
------------
Reports an operator with an overload name when the style is custom-op.

Why it matters
--------------
`torch.library.custom_op` defines operators without an overload name only.

Example
-------
    - func: my_op.dim(Tensor x, int dim) -> Tensor

Use instead
-----------
    - func: my_op_dim(Tensor x, int dim) -> Tensor
"""

CODE = "OPK211"
