"""custom_op cannot take this keyword-only tensor.

What it does
------------
Reports keyword-only tensor arguments that `torch.library.custom_op` does not accept.

Why it matters
--------------
Defining the operator raises.

Example
-------
    - func: my_op(Tensor x, *, Tensor y) -> Tensor

Use instead
-----------
    - func: my_op(Tensor x, Tensor y) -> Tensor
"""

CODE = "OPK212"
