"""No rule gives a result.

What it does
------------
Reports an operator with a fresh result for which neither `meta` nor `gen_opapi` has a rule, where one is
needed: when a Meta kernel is to be written. `opkit check` only notes it (OPK103).

Why it matters
--------------
opkit does not guess shapes.

Example
-------
    - func: my_op(Tensor x) -> Tensor

Use instead
-----------
    - func: my_op(Tensor x) -> Tensor
      meta:
        out: {size: x.shape, dtype: x.dtype}
"""

CODE = "OPK201"
