"""A key of the entry is unknown.

What it does
------------
Warns about a key that looks like a known one, and notes any other that neither op-plugin nor opkit reads.

Why it matters
--------------
The key has no effect.

Example
-------
    - func: my_op(Tensor x) -> Tensor
      op_apis: all_version

Use instead
-----------
    - func: my_op(Tensor x) -> Tensor
      op_api: all_version
"""

CODE = "OPK007"
