"""A rule has more or fewer results than the schema.

What it does
------------
Reports a rule whose results cannot be matched with the schema's by position.

Why it matters
--------------
A Meta kernel that returns another number of values than the schema says fails in every graph.

Example
-------
    - func: my_op(Tensor x) -> (Tensor, Tensor)
      meta:
        out: {size: x, dtype: x}

Use instead
-----------
    - func: my_op(Tensor x) -> (Tensor, Tensor)
      meta:
        out: {size: x, dtype: x}
        scale: {size: "[x.size(0)]", dtype: float32}
"""

CODE = "OPK205"
