"""A written argument has no alias letter.

What it does
------------
Warns about `Tensor!`, for which opkit chooses a letter that the schema does not use.

Why it matters
--------------
torch prints such a schema as text that does not parse again.

Example
-------
    func: my_op(Tensor! x) -> ()

Use instead
-----------
    func: my_op(Tensor(a!) x) -> ()
"""

CODE = "OPK016"
