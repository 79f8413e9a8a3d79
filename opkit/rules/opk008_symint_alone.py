"""An operator is in `symint` only.

What it does
------------
Warns about an entry of `symint` without one of the same name in another section.

Why it matters
--------------
`symint` defines no operator: it says how C++ passes the sizes of one that `custom` or `official` defines.

Example
-------
    symint:
      - func: my_op(Tensor x, SymInt n) -> Tensor

Use instead
-----------
    custom:
      - func: my_op(Tensor x, SymInt n) -> Tensor
        op_api: all_version
    symint:
      - func: my_op(Tensor x, SymInt n) -> Tensor
        op_api: all_version
"""

CODE = "OPK008"
