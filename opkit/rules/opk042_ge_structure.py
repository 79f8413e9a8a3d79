"""The `ge` key has a form opkit does not take.

What it does
------------
Reports keys other than `ir`, `prototype` and `converter`, and an `ir` that is no name.

Why it matters
--------------
No converter can be made from it.

Example
-------
    ge: {ir_name: MyOp}

Use instead
-----------
    ge: {ir: MyOp}
"""

CODE = "OPK042"
