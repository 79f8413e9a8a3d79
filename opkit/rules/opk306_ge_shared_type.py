"""Two operators share an Ascend IR type and differ in its prototype.

What it does
------------
Notes operators that become the same Ascend IR operator with different inputs, outputs or attributes.

Why it matters
--------------
GE knows one prototype per type. In-place and functional twins may share one on purpose.

Example
-------
    - func: my_op(Tensor x) -> Tensor
    - func: MyOp(Tensor x, Tensor y) -> Tensor

Use instead
-----------
    - func: my_op(Tensor x) -> Tensor
    - func: MyOp(Tensor x, Tensor y) -> Tensor
      ge: {ir: MyOpV2}
"""

CODE = "OPK306"
