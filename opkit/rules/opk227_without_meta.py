"""Operators have no Meta kernel in the sources.

What it does
------------
Lists, in one finding, the custom operators that return something and for which the sources register no Meta
or fake kernel. Operators with a `meta` rule are left out: `opkit gen` writes theirs.

Why it matters
--------------
Without one no graph can be captured: "There was no fake impl registered", or an unsupported operator.

Example
-------
    - func: my_op(Tensor x) -> Tensor

Use instead
-----------
    - func: my_op(Tensor x) -> Tensor
      meta:
        out: {size: x, dtype: x}
"""

CODE = "OPK227"
