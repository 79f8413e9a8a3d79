"""Names of the schema and the Ascend IR prototype differ.

What it does
------------
Reports inputs, outputs or attributes that are matched by their order because their names differ.

Why it matters
--------------
Two inputs that change places in one of the files change places in the graph, silently.

Example
-------
    {"op": "MyOp", "input_desc": [{"name": "x1"}, {"name": "x2"}]}  # my_op(Tensor a, Tensor b)

Use instead
-----------
    {"op": "MyOp", "input_desc": [{"name": "a"}, {"name": "b"}]}
"""

CODE = "OPK305"
