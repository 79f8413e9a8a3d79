"""A function returns another number of results.

What it does
------------
Reports a `return` of a tuple for one result, of one tensor or a tuple of another length for several, of
anything for `()`, and a Meta kernel that returns nothing for an operator with results.

Why it matters
--------------
torch raises when the function has run: "Unable to cast ... to Tensor", or "Expected ... to return None".
Nothing where one result is expected passes as None, and fails where the graph first uses it.

Example
-------
    # my_op(Tensor x) -> Tensor
    @impl(m, "my_op")
    def my_op_meta(x):
        return torch.empty_like(x), torch.empty_like(x)

Use instead
-----------
    @impl(m, "my_op")
    def my_op_meta(x):
        return torch.empty_like(x)
"""

CODE = "OPK225"
