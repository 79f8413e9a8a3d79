"""A rule uses a name that stands for nothing.

What it does
------------
Reports names in a rule that are neither an argument, a binding (`let`, `new_params`), nor a constant, and
members a value does not have.

Why it matters
--------------
The rule cannot be evaluated; in `gen_opapi` the generated C++ does not compile.

Example
-------
    - func: my_op(Tensor query) -> Tensor
      meta:
        out: {size: qeury.shape, dtype: query.dtype}

Use instead
-----------
    - func: my_op(Tensor query) -> Tensor
      meta:
        out: {size: query.shape, dtype: query.dtype}
"""

CODE = "OPK202"
