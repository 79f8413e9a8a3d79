"""The schema and the Ascend IR prototype do not fit.

What it does
------------
Reports inputs, outputs and attributes of a given prototype that no argument or result of the schema can be.

Why it matters
--------------
A converter that guesses which is which computes something else.

Example
-------
    ge: {prototype: other_op.json}

Use instead
-----------
    ge: {prototype: my_op.json}
"""

CODE = "OPK304"
