"""A function is not named in a form opkit can find it by.

What it does
------------
Reports values of `reference`, `kernel`, `python`, `converter` and `call` that are neither
`pkg.module:function` nor `file.py:function`.

Why it matters
--------------
The function cannot be found.

Example
-------
    reference: reference.my_op

Use instead
-----------
    reference: reference.py:my_op
"""

CODE = "OPK040"
