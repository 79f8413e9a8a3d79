"""An operator is declared twice.

What it does
------------
Reports two entries of the same name and overload for the same torch version.

Why it matters
--------------
Only one schema can be registered under a name: "Tried to register an operator multiple times".

Example
-------
    - func: my_op(Tensor x) -> Tensor
    - func: my_op(Tensor x, int n) -> Tensor

Use instead
-----------
    - func: my_op(Tensor x) -> Tensor
    - func: my_op.n(Tensor x, int n) -> Tensor
"""

CODE = "OPK009"
