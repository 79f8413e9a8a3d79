"""A request to `opkit scaffold` cannot be met.

What it does
------------
Reports a name, namespace, style or combination of options from which no operator package can be made.

Why it matters
--------------
Nothing is written: half a package would be in the way of the next attempt.

Example
-------
    opkit scaffold my-op --namespace aten

Use instead
-----------
    opkit scaffold my_op --namespace mylib
"""

CODE = "OPK320"
