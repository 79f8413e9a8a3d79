"""A function calls arguments by other names.

What it does
------------
Notes positional parameters that are not named like their argument. `self` and `input` count as the same:
torch_npu registers the one as the other.

Why it matters
--------------
Nothing breaks, since these are given by position. The same names make the function easier to compare.

Example
-------
    # my_op(Tensor x, Tensor weight) -> Tensor
    @impl(m, "my_op")
    def my_op_meta(a, b): ...

Use instead
-----------
    @impl(m, "my_op")
    def my_op_meta(x, weight): ...
"""

CODE = "OPK224"
