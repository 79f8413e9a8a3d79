"""A key is given twice.

What it does
------------
Reports a key that a mapping has already.

Why it matters
--------------
YAML readers, op-plugin's generators among them, take the last one without a word, so half of what is written
has no effect.

Example
-------
    - func: my_op(Tensor x) -> Tensor
      op_api: all_version
      op_api: [v2.1, v2.12]

Use instead
-----------
    - func: my_op(Tensor x) -> Tensor
      op_api: [v2.1, v2.12]
"""

CODE = "OPK003"
