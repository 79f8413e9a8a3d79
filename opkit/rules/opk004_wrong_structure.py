"""A part of the file has another form than it must have.

What it does
------------
Reports a list where a mapping belongs, a text where a list belongs, and the like; warns about a file without
any operator. Also reports a value with a tag of another program (`!!python/...`), and aliases that contain
themselves or are enormous when written out.

Why it matters
--------------
The part cannot be read.

Example
-------
    custom:
      func: my_op(Tensor x) -> Tensor

Use instead
-----------
    custom:
      - func: my_op(Tensor x) -> Tensor
"""

CODE = "OPK004"
