"""GE cannot return a result.

What it does
------------
Reports results that are views or no tensors, and lists of tensors of an operator that also writes arguments.

Why it matters
--------------
An Ascend IR operator has tensor outputs only.

Example
-------
    - func: my_op(Tensor x) -> (Tensor, int)

Use instead
-----------
    - func: my_op(Tensor x) -> (Tensor, Tensor)
"""

CODE = "OPK303"
