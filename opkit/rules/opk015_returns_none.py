"""The schema returns `None`.

What it does
------------
Warns about `-> None`, which opkit reads as `-> ()`.

Why it matters
--------------
torch takes it for one result of type NoneType: parts of torch then treat the operator differently, and
torchgen refuses it.

Example
-------
    func: my_op(Tensor(a!) x) -> None

Use instead
-----------
    func: my_op(Tensor(a!) x) -> ()
"""

CODE = "OPK015"
