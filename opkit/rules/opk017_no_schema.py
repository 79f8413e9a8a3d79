"""The entry has no schema.

What it does
------------
Reports an entry without `func`, or whose `func` is not text.

Why it matters
--------------
Without a schema there is no operator.

Example
-------
    - name: my_op
      op_api: all_version

Use instead
-----------
    - func: my_op(Tensor x) -> Tensor
      op_api: all_version
"""

CODE = "OPK017"
