"""GE cannot take an argument.

What it does
------------
Reports arguments of a type Ascend IR has no attribute or input for: an error if every call passes a value, a
warning if it can stay None.

Why it matters
--------------
The converter would fail in torchair, or the value would be lost.

Example
-------
    - func: my_op(Tensor x, Generator g) -> Tensor

Use instead
-----------
    - func: my_op(Tensor x, int seed) -> Tensor
"""

CODE = "OPK301"
