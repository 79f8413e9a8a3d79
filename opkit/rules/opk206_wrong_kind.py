"""A rule uses a value of the wrong kind.

What it does
------------
Reports a tensor, shape, dtype or number in a place where another of them is needed.

Why it matters
--------------
The rule has no meaning.

Example
-------
    meta:
      out: {size: x.dtype, dtype: x.dtype}

Use instead
-----------
    meta:
      out: {size: x.shape, dtype: x.dtype}
"""

CODE = "OPK206"
