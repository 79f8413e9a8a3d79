"""A function's default is not the schema's.

What it does
------------
Compares values and types of defaults. A value of another type that is equal (1 for 1.0) is a note, a float
for an int a warning. A converter that puts a value for None is a warning.

Why it matters
--------------
The dispatcher leaves out arguments that equal the schema's default, so the function goes on with its own:
for the caller who wrote "BSND" it computes with whatever the function says.

Example
-------
    # my_op(Tensor x, str layout="BSND") -> Tensor
    @impl(m, "my_op")
    def my_op_meta(x, layout="BSH"): ...

Use instead
-----------
    @impl(m, "my_op")
    def my_op_meta(x, layout="BSND"): ...
"""

CODE = "OPK223"
