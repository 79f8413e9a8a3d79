"""The schema cannot be parsed.

What it does
------------
Reports the place where the text stops being a schema, with what was expected there.

Why it matters
--------------
torch refuses the schema, too, when the operator is registered. What opkit accepts is what torch's own parser
accepts.

Example
-------
    func: my_op(Tensor x, int n,) -> Tensor

Use instead
-----------
    func: my_op(Tensor x, int n) -> Tensor
"""

CODE = "OPK010"
