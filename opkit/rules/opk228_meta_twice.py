"""A Meta kernel is registered twice.

What it does
------------
Reports a second Meta or fake kernel of the same operator, unless the two stand under different conditions.

Why it matters
--------------
torch 2.7 raises on the second one; later versions take the last one without a word.

Example
-------
    @impl(m, "my_op")
    def my_op_meta(x): ...

    @impl(m, "my_op")
    def my_op_meta_2(x): ...

Use instead
-----------
    @impl(m, "my_op")
    def my_op_meta(x): ...
"""

CODE = "OPK228"
