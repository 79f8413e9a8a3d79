"""Two arguments have the same name.

What it does
------------
Reports the second of them.

Why it matters
--------------
torch registers such a schema, but no Python Meta kernel can be written for it, and no call can name the
second one.

Example
-------
    func: my_op(Tensor x, Tensor x) -> Tensor

Use instead
-----------
    func: my_op(Tensor x, Tensor y) -> Tensor
"""

CODE = "OPK014"
