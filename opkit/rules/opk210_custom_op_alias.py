"""custom_op cannot return an argument.

What it does
------------
Reports an operator with an aliased result when the style is custom-op.

Why it matters
--------------
`torch.library.custom_op` refuses results that share memory with an argument.

Example
-------
    - func: my_op_(Tensor(a!) x) -> Tensor(a!)

Use instead
-----------
    - func: my_op_(Tensor(a!) x) -> ()
"""

CODE = "OPK210"
