"""A prototype file does not hold the operator.

What it does
------------
Reports a `ge.prototype` file without the Ascend IR type wanted.

Why it matters
--------------
The operator's Ascend IR is unknown.

Example
-------
    ge: {ir: MyOp, prototype: other_op.json}

Use instead
-----------
    ge: {ir: MyOp, prototype: my_op.json}
"""

CODE = "OPK307"
