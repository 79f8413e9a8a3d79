"""A function requires an argument that has a default.

What it does
------------
Reports parameters without a default whose argument has one in the schema.

Why it matters
--------------
The dispatcher leaves out arguments that equal the schema's default, even if the caller wrote them. The call
then fails with "missing 1 required positional argument".

Example
-------
    # my_op(Tensor x, Tensor? mask=None) -> Tensor
    @impl(m, "my_op")
    def my_op_meta(x, mask): ...

Use instead
-----------
    @impl(m, "my_op")
    def my_op_meta(x, mask=None): ...
"""

CODE = "OPK222"
