"""A default is not one the schema language has.

What it does
------------
Reports defaults torch's parser refuses: `inf`, `nan`, `true`, a list for a type without list defaults, a
number beyond 64 bits, names other than `Mean`, `contiguous_format` and a few more.

Why it matters
--------------
The operator cannot be registered.

Example
-------
    func: my_op(Tensor x, float limit=inf, bool flag=true) -> Tensor

Use instead
-----------
    func: my_op(Tensor x, float? limit=None, bool flag=True) -> Tensor
"""

CODE = "OPK013"
