"""A result is an argument, or should be one.

What it does
------------
Reports a Python kernel, Meta or not, that returns one of its arguments where the schema has a fresh result, a
Meta kernel that returns a view of one (`x.view(-1)`), and one that returns a fresh tensor where the schema
returns a written argument.

Why it matters
--------------
The graph takes the result and the argument for the same memory while the kernel makes a new tensor: writing
one in place changes the other, in the graph only.

Example
-------
    # my_rope(Tensor q, Tensor k) -> (Tensor, Tensor)
    @impl(m, "my_rope")
    def my_rope_meta(q, k):
        return q, k

Use instead
-----------
    @impl(m, "my_rope")
    def my_rope_meta(q, k):
        return torch.empty_like(q), torch.empty_like(k)
"""

CODE = "OPK231"
