"""An argument without one shape is used as a size.

What it does
------------
Reports a bare `Tensor?` or `Tensor[]` argument as `size` in `gen_opapi`.

Why it matters
--------------
op-plugin replaces the name by its sizes for plain tensors only; for others the generated C++ does not
compile.

Example
-------
    - func: my_op(Tensor[] xs) -> Tensor
      gen_opapi:
        out: {size: xs, dtype: xs}

Use instead
-----------
    - func: my_op(Tensor[] xs) -> Tensor
      gen_opapi:
        out: {size: 'xs[0]', dtype: 'xs[0]'}
"""

CODE = "OPK022"
